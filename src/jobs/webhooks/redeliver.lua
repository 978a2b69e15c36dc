-- Sends a delivery again, with as many attempts as a new one.
--
-- KEYS  as in delivery.lua
-- ARGV  1 maximum number of events kept   2 place   3 now, ms   4 lifetime of its record, ms
-- Returns 'pending', or 'gone' if it is no longer stored
-- Atomic: everything.

local kept = deliveries(KEYS, ARGV[1])
local record = kept.record(ARGV[2])
if redis.call('EXISTS', record) == 0 then return 'gone' end
redis.call('HSET', record, 'state', 'pending', 'tries', 0, 'nextAttemptAtMs', ARGV[3])
redis.call('HDEL', record, 'finishedAtMs')
redis.call('PEXPIRE', record, ARGV[4])
redis.call('ZADD', kept.pending, ARGV[3], ARGV[2])
return 'pending'
