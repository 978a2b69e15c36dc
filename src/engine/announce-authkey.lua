-- Records which AuthKey a live process uses, and removes expired entries.
--
-- KEYS  1 users of the profile's AuthKeys (hash: process -> 'expiry-ms authKeyId')
-- ARGV  1 process   2 AuthKey, or '' if the process no longer uses any   3 lifetime of the entry, ms
-- Returns nothing
-- Atomic: everything. Times are Redis's.

local process, auth_key, lifetime_ms = ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if auth_key == '' then
  redis.call('HDEL', KEYS[1], process)
else
  redis.call('HSET', KEYS[1], process, string.format('%.0f', now + lifetime_ms) .. ' ' .. auth_key)
end
for user, use in pairs(live_users(KEYS[1], now)) do
  if not use.is_live then
    redis.call('HDEL', KEYS[1], user)
  elseif use.until_ms > now + lifetime_ms then
    -- The entry was written before Redis's clock was set back: let it expire one lifetime from now.
    redis.call('HSET', KEYS[1], user, string.format('%.0f', now + lifetime_ms) .. ' ' .. use.key)
  end
end
