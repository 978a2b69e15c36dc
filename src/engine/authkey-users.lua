-- Included in scripts that check which processes use an AuthKey.
--
-- live_users(users, now) returns a table of process to {is_live, until_ms, key}, from the hash `users`
--   (process -> 'expiry-ms authKeyId').

local function live_users(users, now)
  local found = {}
  local all = redis.call('HGETALL', users)
  for i = 1, #all, 2 do
    local until_ms, key = string.match(all[i + 1], '^(%d+) (.+)$')
    local ends = tonumber(until_ms or '0')
    found[all[i]] = { is_live = ends > now, until_ms = ends, key = key }
  end
  return found
end
