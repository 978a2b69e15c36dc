-- Claims an Idempotency-Key for a request, or returns the outcome of the first request that used it.
--
-- KEYS  1 the key's record (hash: fingerprint, ref, owner, leaseUntilMs, answer)
-- ARGV  1 fingerprint of the request   2 reference for what the request creates   3 owner   4 lease duration, ms
--       5 retention of the key, s
-- Returns {'new', ref}, {'taken-up', ref of the first} if the lease of the first request expired without an answer,
--   {'answered', answer}, {'busy'} while the first request is in progress, or {'other'} for a different request
-- Atomic: everything. Moves: (none) -> claimed -> answered | forgotten; claimed -> claimed (by another, after the lease)

local fingerprint, new_ref, owner, lease_ms, kept_s = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HMGET', KEYS[1], 'fingerprint', 'ref', 'answer', 'leaseUntilMs')
if not found[1] then
  redis.call('HSET', KEYS[1], 'fingerprint', fingerprint, 'ref', new_ref, 'owner', owner, 'leaseUntilMs', now + lease_ms)
  redis.call('EXPIRE', KEYS[1], kept_s)
  return { 'new', new_ref }
end
if found[1] ~= fingerprint then return { 'other' } end
if found[3] then return { 'answered', found[3] } end
if tonumber(found[4]) > now then
  -- The lease was written before Redis's clock was set back: let it expire one lease duration from now.
  if tonumber(found[4]) > now + lease_ms then redis.call('HSET', KEYS[1], 'leaseUntilMs', now + lease_ms) end
  return { 'busy' }
end
redis.call('HSET', KEYS[1], 'owner', owner, 'leaseUntilMs', now + lease_ms)
return { 'taken-up', found[2] }
