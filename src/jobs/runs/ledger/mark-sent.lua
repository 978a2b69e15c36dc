-- Marks a row as sent, before a call that must not be repeated leaves.
--
-- KEYS  1 tries of the segment (hash: place -> JSON)   2 outcomes of the segment (hash)
--       3 finished segments of the run (hash)
-- ARGV  1 segment   2 place   3 tries of the row, JSON with sentAtMs
-- Returns 1; 0 if the row is marked or settled already (nothing is changed)
-- Atomic: everything. Of several processes that hold the row, one makes the call.

local segment, place, tries = ARGV[1], ARGV[2], ARGV[3]
if redis.call('HEXISTS', KEYS[3], segment) == 1 or redis.call('HEXISTS', KEYS[2], place) == 1 then return 0 end
local before = redis.call('HGET', KEYS[1], place)
if before and cjson.decode(before).sentAtMs then return 0 end
redis.call('HSET', KEYS[1], place, tries)
return 1
