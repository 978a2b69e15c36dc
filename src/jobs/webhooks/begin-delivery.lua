-- Begins the delivery of one event to one webhook, unless it was begun before, and removes the oldest deliveries.
--
-- KEYS  as in delivery.lua
-- ARGV  1 maximum number of events kept   2 place   3 place before which deliveries are too old
--       4 maximum number of deliveries   5 lifetime of records, ms   6 now, ms   7 … field, value, … of the delivery
-- Returns 'pending' if it is to be sent, 'over' if it has ended, 'stopped' if the webhook is stopped
-- Atomic: everything. Repeating it has no effect. Pending deliveries that are removed to make room are counted, and
-- reported at most once an hour, since there may be many.

local most_events, new_place, oldest_place = ARGV[1], ARGV[2], ARGV[3]
local most_deliveries, lifetime_ms, now = ARGV[4], ARGV[5], ARGV[6]
local report_every_ms = 3600000

local kept = deliveries(KEYS, most_events)
local record = kept.record(new_place)
local state = redis.call('HGET', record, 'state')
if state then return state == 'pending' and 'pending' or 'over' end
if redis.call('HGET', kept.head, 'state') == 'stopped' then return 'stopped' end

redis.call('HSET', record, 'state', 'pending', unpack(ARGV, 7))
redis.call('PEXPIRE', record, lifetime_ms)
redis.call('ZADD', kept.all, 0, new_place)
redis.call('ZADD', kept.pending, 0, new_place)
redis.call('PEXPIRE', kept.all, lifetime_ms)
redis.call('PEXPIRE', kept.pending, lifetime_ms)

for _, place in ipairs(redis.call('ZRANGEBYLEX', kept.all, '-', '(' .. oldest_place, 'LIMIT', 0, 100)) do kept.drop(place) end
local over = redis.call('ZCARD', kept.all) - tonumber(most_deliveries)
if over > 0 then
  for _, place in ipairs(redis.call('ZRANGE', kept.all, 0, over - 1)) do
    if redis.call('HGET', kept.record(place), 'state') == 'pending' then
      redis.call('HINCRBY', kept.head, 'dropped', 1)
      local reported = tonumber(redis.call('HGET', kept.head, 'droppedToldAtMs') or 0)
      if tonumber(now) - reported >= report_every_ms then
        redis.call('HSET', kept.head, 'droppedToldAtMs', now)
        kept.emit_about('webhook.failed', place, 'too many messages wait, and the oldest make room')
      end
    end
    kept.drop(place)
  end
end
return 'pending'
