-- Goes on holding an Idempotency-Key, or ends that, for the owner alone.
--
-- KEYS  1 the key's record (hash)
-- ARGV  1 owner   2 what: 'renew' | 'release' | 'forget' | 'answer'   3 lease, ms, or the answer
-- Returns 1, or 0 when another holds it or it is gone (nothing is changed then)
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
