-- Renews or ends the lease on an Idempotency-Key, for its owner only.
--
-- KEYS  1 the key's record (hash)
-- ARGV  1 owner   2 action: 'renew' | 'release' | 'forget' | 'answer'   3 lease duration in ms, or the answer
-- Returns 1, or 0 if another owner holds the key or it no longer exists (nothing is changed)
-- Atomic: everything.

local owner, action, value = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', KEYS[1], 'owner') ~= owner then return 0 end
if action == 'forget' then
  redis.call('DEL', KEYS[1])
elseif action == 'answer' then
  redis.call('HSET', KEYS[1], 'answer', value)
elseif action == 'release' then
  redis.call('HSET', KEYS[1], 'leaseUntilMs', 0)
else
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'leaseUntilMs', time[1] * 1000 + math.floor(time[2] / 1000) + value)
end
return 1
