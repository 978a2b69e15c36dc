-- Marks a row as sent, before a call that is unsafe to repeat leaves.
--
-- KEYS  1 run head (hash)   2 outcomes of the segment (hash)   3 tries of the segment (hash: place -> JSON)
--       4 finished segments of the run (hash)
-- ARGV  1 segment   2 place   3 tries of the row, JSON with sentAtMs
-- Returns 1; 0 if the run is not running, or the row is marked or settled already (nothing is changed)
-- Atomic: everything. Of several processes that hold the row, one makes the call. Once a run is over no row is marked,
-- so that the marked rows without an outcome need to be looked for only once.

local segment, place, tries = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HGET', KEYS[1], 'state') ~= 'running' then return 0 end
if redis.call('HEXISTS', KEYS[4], segment) == 1 or redis.call('HEXISTS', KEYS[2], place) == 1 then return 0 end
local before = redis.call('HGET', KEYS[3], place)
if before and cjson.decode(before).sentAtMs then return 0 end
redis.call('HSET', KEYS[3], place, tries)
return 1
