-- Included in move-record.lua for moves of a delivery: keeps the pending deliveries of its webhook consistent with the record,
-- and stops the webhook if its receiver wants no more messages. Requires emit.lua before it.
--
-- refusal(keys, now, args) refuses nothing. keys 1 delivery (hash)   2 events (stream)   3 pending (sorted set: place by time
-- of the next attempt)   4 webhook (hash). args 1 place   2 time of the next attempt, ms; '' if the delivery ends
-- 3 new lifetime of the record, ms; '' to keep it   4 time of the stop, ms; '' if the webhook is not stopped
-- 5 … the event of the stop: maximum number of events kept, type, profile, field, value, …; its last value is the reason

local function refusal(keys, _, args)
  local record, events, pending, webhook = keys[1], keys[2], keys[3], keys[4]
  local place, next_attempt_ms, lifetime_ms, stopped_at_ms = args[1], args[2], args[3], args[4]
  if next_attempt_ms == '' then
    redis.call('ZREM', pending, place)
  else
    redis.call('ZADD', pending, next_attempt_ms, place)
  end
  if lifetime_ms ~= '' then redis.call('PEXPIRE', record, lifetime_ms) end
  if stopped_at_ms ~= '' and redis.call('HGET', webhook, 'state') ~= 'stopped' then
    redis.call('HSET', webhook, 'state', 'stopped', 'stoppedAtMs', stopped_at_ms, 'reason', args[#args])
    emit(events, unpack(args, 5))
  end
end
