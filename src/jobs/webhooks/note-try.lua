-- Records the result of one attempt of a delivery.
--
-- KEYS  as in delivery.lua
-- ARGV  1 maximum number of events kept   2 place   3 now, ms   4 result: delivered, again, failed or stopped
--       5 HTTP status, or ''   6 reason, or ''   7 with again: time of the next attempt, ms
-- Returns 'noted', or 'over' if the delivery had ended before (nothing is changed)
-- Atomic: everything. A delivery ends once; stopped ends this delivery as failed and stops the whole webhook.

local kept = deliveries(KEYS, ARGV[1])
local record = kept.record(ARGV[2])
if redis.call('HGET', record, 'state') ~= 'pending' then return 'over' end
redis.call('HINCRBY', record, 'attempts', 1)
redis.call('HINCRBY', record, 'tries', 1)
redis.call('HSET', record, 'lastStatus', ARGV[5], 'lastReason', ARGV[6])
if ARGV[4] == 'again' then
  redis.call('HSET', record, 'nextAttemptAtMs', ARGV[7])
  redis.call('ZADD', kept.pending, ARGV[7], ARGV[2])
  return 'noted'
end
redis.call('HSET', record, 'state', ARGV[4] == 'delivered' and 'delivered' or 'failed', 'finishedAtMs', ARGV[3])
redis.call('HDEL', record, 'nextAttemptAtMs')
redis.call('ZREM', kept.pending, ARGV[2])
if ARGV[4] == 'failed' then kept.tell_of('webhook.failed', ARGV[2], ARGV[6]) end
if ARGV[4] == 'stopped' and redis.call('HGET', kept.head, 'state') ~= 'stopped' then
  redis.call('HSET', kept.head, 'state', 'stopped', 'stoppedAtMs', ARGV[3], 'reason', ARGV[6])
  kept.tell_of('webhook.stopped', ARGV[2], ARGV[6])
end
return 'noted'
