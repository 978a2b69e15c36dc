-- Starts the delivery of one event to one webhook, unless it was started before, and removes the oldest deliveries. A
-- delivery is identified by its place, which is derived from its event's id and sorts like the events.
--
-- KEYS  1 webhook (hash)   2 deliveries (sorted set)   3 pending (sorted set)   4 prefix of delivery hashes
--       5 events (stream)
-- ARGV  1 maximum number of events kept   2 place   3 place before which deliveries are too old
--       4 maximum number of deliveries   5 lifetime of records, ms   6 now, ms   7 … field, value, … of the delivery
-- Returns 'pending' if it is to be sent, 'over' if it has ended, 'stopped' if the webhook is stopped
-- Atomic: everything. Repeating it has no effect. Pending deliveries that are removed to make room are counted, and
-- reported at most once an hour, since there may be many.

local webhook, deliveries, pending, events = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local max_events, new_place, oldest_place = ARGV[1], ARGV[2], ARGV[3]
local max_deliveries, lifetime_ms, now = ARGV[4], ARGV[5], ARGV[6]
local report_every_ms = 3600000

local function record_of(place) return KEYS[4] .. place end

local function drop(place)
  redis.call('ZREM', deliveries, place)
  redis.call('ZREM', pending, place)
  redis.call('UNLINK', record_of(place))
end

-- A delivery whose event is itself about a webhook is not reported: that would loop.
local function report_dropped(place)
  local at = redis.call('HMGET', record_of(place), 'deliveryId', 'webhook', 'event')
  local event = cjson.decode(at[3])
  if string.sub(event.type, 1, 8) == 'webhook.' then return end
  emit(events, max_events, 'webhook.failed', event.profile, 'webhook', at[2], 'delivery', at[1], 'event', event.type,
    'reason', 'too many messages wait, and the oldest make room')
end

local record = record_of(new_place)
local state = redis.call('HGET', record, 'state')
if state then return state == 'pending' and 'pending' or 'over' end
if redis.call('HGET', webhook, 'state') == 'stopped' then return 'stopped' end

redis.call('HSET', record, unpack(ARGV, 7))
redis.call('PEXPIRE', record, lifetime_ms)
redis.call('ZADD', deliveries, 0, new_place)
redis.call('ZADD', pending, 0, new_place)
redis.call('PEXPIRE', deliveries, lifetime_ms)
redis.call('PEXPIRE', pending, lifetime_ms)

for _, place in ipairs(redis.call('ZRANGEBYLEX', deliveries, '-', '(' .. oldest_place, 'LIMIT', 0, 100)) do drop(place) end
local over = redis.call('ZCARD', deliveries) - tonumber(max_deliveries)
if over > 0 then
  for _, place in ipairs(redis.call('ZRANGE', deliveries, 0, over - 1)) do
    if redis.call('HGET', record_of(place), 'state') == 'pending' then
      redis.call('HINCRBY', webhook, 'dropped', 1)
      local reported = tonumber(redis.call('HGET', webhook, 'droppedToldAtMs') or 0)
      if tonumber(now) - reported >= report_every_ms then
        redis.call('HSET', webhook, 'droppedToldAtMs', now)
        report_dropped(place)
      end
    end
    drop(place)
  end
end
return 'pending'
