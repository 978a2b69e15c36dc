-- Starts a sync, unless one is in progress.
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 id for a new sync   4 'restart' to replace a sync in progress
--       5 who requests it, or ''
-- Returns the id of the sync that is now in progress
-- Atomic: everything.

local profile, max_events, sync_id, how, started_by = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local inv = inventory(KEYS, profile, max_events)
local before = redis.call('HMGET', KEYS[9], 'syncId', 'phase')
local is_under_way = before[2] == 'listing' or before[2] == 'sweeping'
if is_under_way and how ~= 'restart' then return before[1] end
redis.call('UNLINK', inv.seen, KEYS[9])
redis.call('HSET', KEYS[9], 'syncId', sync_id, 'profile', profile, 'phase', 'listing', 'startedAtMs', inv.now, 'pages', 0,
  'sims', 0, 'added', 0, 'changed', 0, 'returned', 0, 'gone', 0)
if started_by ~= '' then redis.call('HSET', KEYS[9], 'startedBy', started_by) end
return sync_id
