-- Included in scripts that change a run's state: emits the event of the transition with the run's new tally. Requires
-- emit.lua before it.
--
-- emit_run(stream, max_events, kind, key, run, by, reason) reads the run's head (hash) at `key` and adds the event;
-- `by` may be ''; without `reason`, the reason in the head is used.

local function emit_run(stream, max_events, kind, key, run, by, reason)
  local head = redis.call('HMGET', key, 'profile', 'name', 'total', 'done', 'skipped', 'rejected', 'failed', 'state',
    'reason', 'unknown')
  local left = tonumber(head[3]) - tonumber(head[4]) - tonumber(head[5]) - tonumber(head[6]) - tonumber(head[7])
    - tonumber(head[10] or 0)
  local is_cut = head[8] == 'aborted' or head[8] == 'cancelled'
  local fields = { 'run', run, 'name', head[2], 'state', head[8], 'total', head[3], 'done', head[4], 'skipped', head[5],
    'rejected', head[6], 'failed', head[7], 'unknown', head[10] or 0, 'cancelled', is_cut and left or 0, 'pending', is_cut and 0 or left }
  reason = reason or head[9] or ''
  if reason ~= '' then
    fields[#fields + 1] = 'reason'
    fields[#fields + 1] = reason
  end
  if by ~= '' then
    fields[#fields + 1] = 'by'
    fields[#fields + 1] = by
  end
  emit(stream, max_events, kind, head[1], unpack(fields))
end
