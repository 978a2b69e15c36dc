-- Replaces the outcomes of a finished segment by their packed form.
--
-- KEYS  1 outcomes of the segment (hash)   2 tries of the segment (hash)   3 finished segments of the run (hash)
--       4 run head (hash)
-- ARGV  1 segment   2 number of packed outcomes   3 packed outcomes   4 rows of the segment that make a call
-- Returns 1, also if the run was removed or the segment is packed; 0 if the packed outcomes are not all (no change)
-- Atomic: everything, so a reader finds each outcome in exactly one of the two places.

local segment, packed_count, packed, calls = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- A process that was stopped for long may come after the run's end.
local head = redis.call('HMGET', KEYS[4], 'state', 'rowsRemovedAtMs')
if not head[1] or head[2] then return 1 end
if redis.call('HEXISTS', KEYS[3], segment) == 1 then return 1 end
if packed_count ~= calls or redis.call('HLEN', KEYS[1]) ~= tonumber(packed_count) then return 0 end
redis.call('HSET', KEYS[3], segment, packed)
redis.call('DEL', KEYS[1], KEYS[2])
return 1
