-- Renews or ends the lease on an Idempotency-Key, for its owner only.
--
-- KEYS  1 the key's record (hash)
-- ARGV  1 owner   2 action: 'renew' | 'release' | 'forget' | 'answer'   3 lease duration in ms, or the answer
-- Returns 1, or 0 if another owner holds the key or it no longer exists (nothing is changed)
-- Atomic: everything.

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
if ARGV[2] == 'forget' then
  redis.call('DEL', KEYS[1])
elseif ARGV[2] == 'answer' then
  redis.call('HSET', KEYS[1], 'answer', ARGV[3])
elseif ARGV[2] == 'release' then
  redis.call('HSET', KEYS[1], 'leaseUntilMs', 0)
else
  local time = redis.call('TIME')
  redis.call('HSET', KEYS[1], 'leaseUntilMs', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3])
end
return 1
