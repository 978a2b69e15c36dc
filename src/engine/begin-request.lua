-- Claims an Idempotency-Key for a request, or returns the outcome of the first request that used it.
--
-- KEYS  1 the key's record (hash: fingerprint, ref, owner, leaseUntilMs, answer)
-- ARGV  1 fingerprint of the request   2 reference for what the request creates   3 owner   4 lease duration, ms
--       5 retention of the key, s
-- Returns {'new', ref}, {'taken-up', ref of the first} if the lease of the first request expired without an answer,
--   {'answered', answer}, {'busy'} while the first request is in progress, or {'other'} for a different request
-- Atomic: everything. Moves: (none) -> claimed -> answered | forgotten; claimed -> claimed (by another, after the lease)

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'ref', 'answer', 'leaseUntilMs')
if not found[1] then
  redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'ref', ARGV[2], 'owner', ARGV[3], 'leaseUntilMs', now + ARGV[4])
  redis.call('EXPIRE', KEYS[1], ARGV[5])
  return { 'new', ARGV[2] }
end
if found[1] ~= ARGV[1] then return { 'other' } end
if found[3] then return { 'answered', found[3] } end
if tonumber(found[4]) > now then
  -- The lease was written before Redis's clock was set back: let it expire one lease duration from now.
  if tonumber(found[4]) > now + ARGV[4] then redis.call('HSET', KEYS[1], 'leaseUntilMs', now + ARGV[4]) end
  return { 'busy' }
end
redis.call('HSET', KEYS[1], 'owner', ARGV[3], 'leaseUntilMs', now + ARGV[4])
return { 'taken-up', found[2] }
