-- Keeps a draft as a planned run: its rows and its head are stored until the plan expires, and it can be started.
--
-- KEYS  1 run head (hash)   2 drafted rows (hash with expiry: segment -> packed rows)   3 rows of the run (hash)
--       4 plans (hash: run or upload -> `expiry bytes owner`)
-- ARGV  1 run id   2 number of segments   3 time to live, ms   4 `expiry bytes owner`   5 upload that it came with, or ''
--       6 … fields of the head, `state` among them
-- Returns 'kept'; 'exists' if the run was started; 'expired' if a segment has expired (nothing is changed)
-- Atomic: everything. A plan that is kept twice under one id is replaced, and the draft of a started run is deleted.
-- Moves: (none)|planned -> planned

local run, segments, ttl_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local head = redis.call('HMGET', KEYS[1], 'state', 'draft')
if head[1] and head[1] ~= 'planned' then
  redis.call('UNLINK', KEYS[2])
  return 'exists'
end
-- The same draft is kept twice if the first response was lost.
if head[2] == KEYS[2] then return 'kept' end
if redis.call('HLEN', KEYS[2]) < segments then return 'expired' end
redis.call('UNLINK', KEYS[1], KEYS[3])
if segments > 0 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PEXPIRE', KEYS[3], ttl_ms)
end
redis.call('HSET', KEYS[1], 'draft', KEYS[2], unpack(ARGV, 6))
redis.call('PEXPIRE', KEYS[1], ttl_ms)
if ARGV[5] ~= '' then redis.call('HDEL', KEYS[4], ARGV[5]) end
redis.call('HSET', KEYS[4], run, ARGV[4])
redis.call('PEXPIRE', KEYS[4], ttl_ms)
return 'kept'
