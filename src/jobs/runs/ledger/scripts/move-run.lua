-- Changes the state of a run if its current state allows it, and emits the event.
--
-- KEYS  1 run head (hash)   2 event stream
-- ARGV  1 new state   2 now, ms since the epoch   3 reason, or ''   4 run id   5 maximum number of events kept
--       6 who does it, or ''   7 … states from which the transition is allowed
-- Returns the previous state, or 'gone'; the transition was made if the previous state is one of ARGV 7 …
-- Atomic: everything. Approval starts the run (start-run.lua); a resumed run has started before. A transition to the
-- current state only changes the reason and emits no event.

local new_state, now, reason = ARGV[1], ARGV[2], ARGV[3]
local run_id, max_events, by = ARGV[4], ARGV[5], ARGV[6]
local KINDS = { paused = 'run.paused', running = 'run.resumed', cancelled = 'run.cancelled' }

local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'gone' end
for i = 7, #ARGV do
  if ARGV[i] == state then
    redis.call('HSET', KEYS[1], 'state', new_state)
    -- The reason of a pause ends with the pause.
    if reason ~= '' then redis.call('HSET', KEYS[1], 'reason', reason) else redis.call('HDEL', KEYS[1], 'reason') end
    -- A paused run keeps its problem for display; a resumed run starts without one.
    if new_state ~= 'paused' then
      clear_problem(KEYS[1])
      redis.call('HDEL', KEYS[1], 'isStalled')
    end
    if new_state == 'cancelled' then redis.call('HSET', KEYS[1], 'finishedAtMs', now) end
    if state == 'paused' and new_state == 'running' then redis.call('HSET', KEYS[1], 'resumedAtMs', now) end
    local is_approved = state == 'awaiting-approval' and new_state == 'running'
    if is_approved then
      redis.call('HSET', KEYS[1], 'startedAtMs', now, 'approvedBy', by)
      note_start(KEYS[1], run_id)
    end
    if state ~= new_state then
      emit_run(KEYS[2], max_events, is_approved and 'run.approved' or KINDS[new_state], KEYS[1], run_id, by)
    end
    break
  end
end
return state
