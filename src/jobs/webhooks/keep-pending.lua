-- Included in move-record.lua for moves of a delivery: keeps the pending deliveries of its webhook consistent with the
-- record, counts the attempts of the webhook that failed in a row, and stops it if its endpoint wants no more messages.
-- Requires emit.lua before it.
--
-- refusal(keys, now, args) rejects nothing. keys 1 delivery (hash)   2 events (stream)   3 pending (sorted set: place
-- by time of the next attempt)   4 webhook (hash). args 1 place   2 time of the next attempt, ms; '' if the delivery
-- ends   3 new lifetime of the record, ms; '' to keep it   4 result of the attempt: 'delivered', 'again', 'failed',
-- 'stopped'; '' if none   5 maximum number of events kept   6 profile   7 … fields of the events, the reason last

local FAILING_AFTER = 3

local function refusal(keys, _, args)
  local record, events, pending, webhook = keys[1], keys[2], keys[3], keys[4]
  local place, next_attempt_ms, lifetime_ms, result = args[1], args[2], args[3], args[4]
  local function tell(type) emit(events, args[5], type, args[6], unpack(args, 7)) end
  if next_attempt_ms == '' then
    redis.call('ZREM', pending, place)
  else
    redis.call('ZADD', pending, next_attempt_ms, place)
  end
  if lifetime_ms ~= '' then redis.call('PEXPIRE', record, lifetime_ms) end
  if result == 'stopped' and redis.call('HGET', webhook, 'state') ~= 'stopped' then
    redis.call('HSET', webhook, 'state', 'stopped', 'reason', args[#args])
    tell('webhook.stopped')
  elseif result == 'delivered' then
    local failures = tonumber(redis.call('HGET', webhook, 'failures') or 0)
    redis.call('HDEL', webhook, 'failures', 'failure')
    if failures >= FAILING_AFTER then tell('webhook.recovered') end
  elseif result == 'again' or result == 'failed' then
    redis.call('HSET', webhook, 'failure', args[#args])
    if redis.call('HINCRBY', webhook, 'failures', 1) == FAILING_AFTER then tell('webhook.failing') end
  end
end
