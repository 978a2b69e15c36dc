-- Commits a drafted run: from now on it is listed, and workers process its rows.
--
-- KEYS  1 run head (hash)   2 drafted rows (hash with expiry: segment -> packed rows)   3 permanent rows (hash)
--       4 runs (sorted set)   5 event stream
-- ARGV  1 run id   2 number of segments   3 creation time, ms   4 maximum number of events kept   5 submitter, or ''
--       6 … fields of the head
-- Returns 'committed'; 'exists' if there already is a run with this id; 'expired' if a segment has expired. In the last
--   two cases nothing is changed, except that 'exists' deletes the draft.
-- Atomic: everything. An existing run stays unchanged and the draft is deleted, so committing twice has no effect.
-- Moves: (none) -> running | awaiting-approval | completed (no row makes a call)

local run, segments, created_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local most_events, by = ARGV[4], ARGV[5]
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[2])
  -- The same draft is committed twice if the first response was lost.
  return redis.call('HGET', KEYS[1], 'draft') == KEYS[2] and 'committed' or 'exists'
end
if redis.call('HLEN', KEYS[2]) < segments then return 'expired' end
if segments > 0 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PERSIST', KEYS[3])
end
redis.call('HSET', KEYS[1], 'draft', KEYS[2], unpack(ARGV, 6))
redis.call('ZADD', KEYS[4], created_ms, run)
emit_run(KEYS[5], most_events, 'run.submitted', KEYS[1], run, by)
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'awaiting-approval' then
  emit_run(KEYS[5], most_events, 'run.awaiting-approval', KEYS[1], run, by)
elseif state == 'completed' then
  emit_run(KEYS[5], most_events, 'run.completed', KEYS[1], run, '')
end
return 'committed'
