-- Commits a drafted run or starts a planned one: from now on it is listed, and workers process its rows. Or keeps a
-- draft as a plan: its rows and its head are stored until it expires, and it can be started.
--
-- KEYS  1 run head (hash)   2 drafted rows (hash with expiry: segment -> packed rows); KEYS 3 to start a plan as it is
--       3 rows (hash)   4 runs (sorted set)   5 event stream   6 plans (hash: run or upload -> `expiry bytes owner`)
--       7 head of the run whose rows it takes, if they may be taken only once
-- ARGV  1 run id   2 number of segments   3 creation time, ms   4 maximum number of events kept   5 submitter, or ''
--       6 identifies the attempt   7 time to live of the plan to keep, ms, 'start', or ''   8 its `expiry bytes owner`
--       9 the upload that it came with, or ''   10 number of fields of the other head that record who took the rows
--       11 … these fields, then those of the head
-- Returns 'committed'; 'exists' if there already is a run with this id; { field, run } if another run has taken rows;
--   'expired' if a segment, the plan or that run is gone. Unless it is 'committed' nothing is changed, except that the
--   draft is deleted; a plan is kept.
-- Atomic: everything. An existing run stays unchanged and the draft is deleted, so committing twice has no effect.
-- Of several runs that take the same rows, one is committed. A plan loses its expiry as it is started.
-- Moves: (none) -> planned; (none)|planned -> running (start-run.lua) | awaiting-approval | completed (no row
--   makes a call)

local run, segments, created_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local max_events, by, attempt, groups = ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[10])
local ttl_ms, entry, upload = ARGV[7], ARGV[8], ARGV[9]
local starts_plan, keeps_plan = ttl_ms == 'start', tonumber(ttl_ms)
local is_drafted = KEYS[2] ~= KEYS[3]
local state, committed_by = unpack(redis.call('HMGET', KEYS[1], 'state', 'attempt'))
local function drop_draft()
  if is_drafted then redis.call('UNLINK', KEYS[2]) end
end

if starts_plan and not state then
  drop_draft()
  return 'expired'
end
local is_open = not state or (state == 'planned' and starts_plan)
if not is_open or committed_by == attempt then
  drop_draft()
  -- The same draft is committed twice if the first response was lost.
  return committed_by == attempt and 'committed' or 'exists'
end
-- Who has taken its rows is not known anymore.
if groups > 0 and redis.call('EXISTS', KEYS[7]) == 0 then
  drop_draft()
  return 'expired'
end
for i = 11, 10 + groups do
  local taken_by = redis.call('HGET', KEYS[7], ARGV[i])
  if taken_by then
    drop_draft()
    return { ARGV[i], taken_by }
  end
end
if redis.call('HLEN', KEYS[2]) < segments then return 'expired' end
for i = 11, 10 + groups do redis.call('HSET', KEYS[7], ARGV[i], run) end
if segments > 0 and is_drafted then redis.call('RENAME', KEYS[2], KEYS[3]) end
redis.call('HSET', KEYS[1], 'attempt', attempt, unpack(ARGV, 11 + groups))
if keeps_plan then
  if upload ~= '' then redis.call('HDEL', KEYS[6], upload) end
  redis.call('HSET', KEYS[6], run, entry)
  for _, key in ipairs({ KEYS[1], KEYS[3], KEYS[6] }) do redis.call('PEXPIRE', key, ttl_ms) end
  return 'committed'
end
redis.call('PERSIST', KEYS[3])
if starts_plan then
  redis.call('PERSIST', KEYS[1])
  redis.call('HDEL', KEYS[1], 'plan')
  redis.call('HDEL', KEYS[6], run)
end
redis.call('ZADD', KEYS[4], created_ms, run)
emit_run(KEYS[5], max_events, 'run.submitted', KEYS[1], run, by)
state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'awaiting-approval' then note_start(KEYS[1], run) end
if state == 'awaiting-approval' then
  emit_run(KEYS[5], max_events, 'run.awaiting-approval', KEYS[1], run, by)
elseif state == 'completed' then
  emit_run(KEYS[5], max_events, 'run.completed', KEYS[1], run, '')
end
return 'committed'
