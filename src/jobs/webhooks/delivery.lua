-- Included in scripts that change a webhook's deliveries. A delivery is identified by its place, which is derived from its
-- event's id and sorts like the events.
--
-- deliveries(KEYS, most_events) with KEYS 1 webhook (hash) 2 deliveries (sorted set) 3 pending (sorted set)
-- 4 prefix of delivery hashes 5 events (stream) returns functions that keep the first three consistent.

local function deliveries(keys, most_events)
  local kept = { head = keys[1], all = keys[2], pending = keys[3], events = keys[5] }

  function kept.record(place) return keys[4] .. place end

  -- Emits an event about the webhook or a delivery, unless the delivered event is itself about a webhook: that would loop.
  function kept.emit_about(kind, place, reason)
    local at = redis.call('HMGET', kept.record(place), 'deliveryId', 'webhook', 'type', 'profile')
    if not at[1] or (kind == 'webhook.failed' and string.sub(at[3], 1, 8) == 'webhook.') then return end
    emit(kept.events, most_events, kind, at[4], 'webhook', at[2], 'delivery', at[1], 'event', at[3], 'reason', reason)
  end

  function kept.drop(place)
    redis.call('ZREM', kept.all, place)
    redis.call('ZREM', kept.pending, place)
    redis.call('UNLINK', kept.record(place))
  end

  return kept
end
