-- Sends a delivery again, with as many attempts as a new one.
--
-- KEYS  as in delivery.lua
-- ARGV  1 maximum number of events kept   2 place   3 now, ms   4 lifetime of its record, ms
-- Returns 'pending', or 'gone' if it is no longer stored
-- Atomic: everything.

local most_events, place, now, lifetime_ms = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local kept = deliveries(KEYS, most_events)
local record = kept.record(place)
if redis.call('EXISTS', record) == 0 then return 'gone' end
redis.call('HSET', record, 'state', 'pending', 'tries', 0, 'nextAttemptAtMs', now)
redis.call('HDEL', record, 'finishedAtMs')
redis.call('PEXPIRE', record, lifetime_ms)
redis.call('ZADD', kept.pending, now, place)
return 'pending'
