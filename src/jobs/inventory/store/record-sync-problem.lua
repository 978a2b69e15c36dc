-- Records that a page of a sync could not be read, and when it is retried. The next page clears it (take-page.lua).
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 sync id   4 message   5 time until the next attempt, ms
-- Returns nothing; a sync that has ended or was replaced is left unchanged
-- Atomic: everything.

local sync, sync_id, message, delay = KEYS[9], ARGV[3], ARGV[4], tonumber(ARGV[5])
local inv = inventory(KEYS, ARGV[1], ARGV[2])
local known = redis.call('HMGET', sync, 'syncId', 'phase')
if known[1] ~= sync_id or known[2] ~= 'listing' then return end
record_problem(sync, inv.now, message, tonumber(inv.now) + delay)
