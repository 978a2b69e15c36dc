-- Ends a sync that cannot continue; the next sync starts from scratch.
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 sync id   4 reason
-- Returns 'failed', or 'stale' if the sync has ended or was replaced (nothing is changed)
-- Atomic: everything.

local profile, most_events, sync_id, reason = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local inv = inventory(KEYS, profile, most_events)
local sync = redis.call('HMGET', KEYS[9], 'syncId', 'phase')
if sync[1] ~= sync_id or (sync[2] ~= 'listing' and sync[2] ~= 'sweeping') then return 'stale' end
redis.call('HSET', KEYS[9], 'phase', 'failed', 'finishedAtMs', inv.now, 'reason', reason)
clear_problem(KEYS[9])
emit(inv.events, inv.most, 'sync.failed', profile, 'cause', sync_id, 'reason', reason)
return 'failed'
