-- Has a delivery sent again, with as many tries as a new one.
--
-- KEYS  as of delivery.lua
-- ARGV  1 most events kept   2 place   3 now, ms   4 how long its record lives, ms
-- Returns 'pending', or 'gone' when it is no longer kept
-- Atomic: everything.

local kept = deliveries(KEYS, ARGV[1])
local record = kept.record(ARGV[2])
if redis.call('EXISTS', record) == 0 then return 'gone' end
redis.call('HSET', record, 'state', 'pending', 'tries', 0, 'nextAttemptAtMs', ARGV[3])
redis.call('HDEL', record, 'finishedAtMs')
redis.call('PEXPIRE', record, ARGV[4])
redis.call('ZADD', kept.pending, ARGV[3], ARGV[2])
return 'pending'
