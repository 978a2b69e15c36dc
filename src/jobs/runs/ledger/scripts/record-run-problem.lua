-- Records that a call of a run failed for a reason that affects every row, such as a platform that answers 500.
--
-- KEYS  1 run head (hash)   2 event stream
-- ARGV  1 now, ms since the epoch   2 message   3 next attempt, ms   4 run id   5 maximum number of events kept
--       6 time without progress after which a run counts as stalled, ms; '' for a hold, such as a freeze
--       7 event to emit with the problem, or ''
-- Returns nothing
-- Atomic: everything. `run.stalled` is emitted once, with the first attempt after which the run counts as stalled; the
-- next usable response clears the problem and emits `run.recovered` (settle.lua). A hold is no stall, and responses to
-- calls that were in flight when it started do not clear it. Only a running run has a problem.

local run, now, message, next, run_id = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local max_events, stalled_after = ARGV[5], tonumber(ARGV[6])
-- The queue wakes a held job so long before its time.
local LEAD_MS = 1000
if redis.call('HGET', run, 'state') ~= 'running' then return end
local since = record_problem(run, now, message, next)
if ARGV[7] ~= '' then emit_run(KEYS[2], max_events, ARGV[7], run, run_id, '', message) end
if not stalled_after then
  redis.call('HSET', run, 'problemHeldUntilMs', tonumber(next) - LEAD_MS)
  return
end
redis.call('HDEL', run, 'problemHeldUntilMs')
if tonumber(next) - since >= stalled_after and redis.call('HSETNX', run, 'isStalled', 1) == 1 then
  emit_run(KEYS[2], max_events, 'run.stalled', run, run_id, '', message)
end
