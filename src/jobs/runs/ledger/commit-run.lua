-- Commits a drafted run: from now on it is listed, and workers process its rows.
--
-- KEYS  1 run head (hash)   2 drafted rows (hash with expiry: segment -> packed rows)   3 permanent rows (hash)
--       4 runs (sorted set)   5 event stream   6 head of the run whose rows it takes, if they may be taken only once
-- ARGV  1 run id   2 number of segments   3 creation time, ms   4 maximum number of events kept   5 submitter, or ''
--       6 number of fields of the other head that record who took the rows   7 … these fields, then those of the head
-- Returns 'committed'; 'exists' if there already is a run with this id; { field, run } if another run has taken rows;
--   'expired' if a segment has expired. Otherwise than 'committed' nothing is changed, except that the draft is deleted
--   unless it has expired.
-- Atomic: everything. An existing run stays unchanged and the draft is deleted, so committing twice has no effect. Of
-- several runs that take the same rows, one is committed.
-- Moves: (none) -> running | awaiting-approval | completed (no row makes a call)

local run, segments, created_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local most_events, by, groups = ARGV[4], ARGV[5], tonumber(ARGV[6])
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[2])
  -- The same draft is committed twice if the first response was lost.
  return redis.call('HGET', KEYS[1], 'draft') == KEYS[2] and 'committed' or 'exists'
end
for i = 7, 6 + groups do
  local taken_by = redis.call('HGET', KEYS[6], ARGV[i])
  if taken_by then
    redis.call('UNLINK', KEYS[2])
    return { ARGV[i], taken_by }
  end
end
if redis.call('HLEN', KEYS[2]) < segments then return 'expired' end
for i = 7, 6 + groups do redis.call('HSET', KEYS[6], ARGV[i], run) end
if segments > 0 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PERSIST', KEYS[3])
end
redis.call('HSET', KEYS[1], 'draft', KEYS[2], unpack(ARGV, 7 + groups))
redis.call('ZADD', KEYS[4], created_ms, run)
emit_run(KEYS[5], most_events, 'run.submitted', KEYS[1], run, by)
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'awaiting-approval' then
  emit_run(KEYS[5], most_events, 'run.awaiting-approval', KEYS[1], run, by)
elseif state == 'completed' then
  emit_run(KEYS[5], most_events, 'run.completed', KEYS[1], run, '')
end
return 'committed'
