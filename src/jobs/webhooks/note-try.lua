-- Records the result of one attempt of a delivery.
--
-- KEYS  as in delivery.lua
-- ARGV  1 maximum number of events kept   2 place   3 now, ms   4 result: delivered, again, failed or stopped
--       5 HTTP status, or ''   6 reason, or ''   7 with again: time of the next attempt, ms
-- Returns 'noted', or 'over' if the delivery had ended before (nothing is changed)
-- Atomic: everything. A delivery ends once; stopped ends this delivery as failed and stops the whole webhook.

local most_events, place, now, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local status, reason, next_attempt_ms = ARGV[5], ARGV[6], ARGV[7]
local kept = deliveries(KEYS, most_events)
local record = kept.record(place)
if redis.call('HGET', record, 'state') ~= 'pending' then return 'over' end
redis.call('HINCRBY', record, 'attempts', 1)
redis.call('HINCRBY', record, 'tries', 1)
redis.call('HSET', record, 'lastStatus', status, 'lastReason', reason)
if result == 'again' then
  redis.call('HSET', record, 'nextAttemptAtMs', next_attempt_ms)
  redis.call('ZADD', kept.pending, next_attempt_ms, place)
  return 'noted'
end
redis.call('HSET', record, 'state', result == 'delivered' and 'delivered' or 'failed', 'finishedAtMs', now)
redis.call('HDEL', record, 'nextAttemptAtMs')
redis.call('ZREM', kept.pending, place)
if result == 'failed' then kept.emit_about('webhook.failed', place, reason) end
if result == 'stopped' and redis.call('HGET', kept.head, 'state') ~= 'stopped' then
  redis.call('HSET', kept.head, 'state', 'stopped', 'stoppedAtMs', now, 'reason', reason)
  kept.emit_about('webhook.stopped', place, reason)
end
return 'noted'
