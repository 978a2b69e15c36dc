-- Reserves room for an upload, or for a plan that is about to be kept, within what one caller may have.
--
-- KEYS  1 plans (hash: run or upload -> `expiry bytes owner`)
-- ARGV  1 now, ms since the epoch   2 run or upload   3 expiry, ms   4 its bytes so far   5 owner
--       6 maximum number of the owner's plans and uploads, or '' for no limit   7 maximum of their bytes
-- Returns { 'reserved' }; { 'plans', oldest plan or '', its expiry } or { 'bytes' } if there would be too many (nothing
--   is reserved then)
-- Atomic: everything, so of several requests at once each sees the others. Expired entries are removed.

local now, id, expires, bytes, owner = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
local max_plans, max_bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local count, oldest, oldest_ms = 1, '', nil
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local until_ms, size, by = string.match(all[i + 1], '^(%d+) (%d+) (.*)$')
  until_ms = tonumber(until_ms)
  if until_ms <= now then
    redis.call('HDEL', KEYS[1], all[i])
  elseif by == owner and all[i] ~= id then
    count, bytes = count + 1, bytes + tonumber(size)
    local is_plan = string.sub(all[i], 1, 2) == 'r-'
    if is_plan and (not oldest_ms or until_ms < oldest_ms) then oldest, oldest_ms = all[i], until_ms end
  end
end
if max_plans and count > max_plans then return { 'plans', oldest, oldest_ms or now } end
if max_plans and bytes > max_bytes then return { 'bytes' } end
redis.call('HSET', KEYS[1], id, expires .. ' ' .. ARGV[4] .. ' ' .. owner)
redis.call('PEXPIREAT', KEYS[1], expires)
return { 'reserved' }
