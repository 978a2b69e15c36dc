-- Moves a run from one state to another, if it is in a state that allows it, and tells of the move.
--
-- KEYS  1 run head (hash)   2 event feed (stream)
-- ARGV  1 new state   2 now, ms since the epoch   3 reason, or ''   4 run id   5 most events kept   6 who does it, or ''
--       7 … states from which the move is allowed
-- Returns the state before the move, or 'gone'; the move was made when that is one of ARGV 7 …
-- Atomic: everything. A move to the state that it is in changes the reason alone, and is not told.

local KINDS = { paused = 'run.paused', running = 'run.resumed', cancelled = 'run.cancelled' }

local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'gone' end
for i = 7, #ARGV do
  if ARGV[i] == state then
    redis.call('HSET', KEYS[1], 'state', ARGV[1])
    -- What it stood still for is over with the standstill.
    if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'reason', ARGV[3]) else redis.call('HDEL', KEYS[1], 'reason') end
    -- A pause keeps the problem for whoever looks; after a resume it has to show itself again.
    if ARGV[1] ~= 'paused' then
      clear_problem(KEYS[1])
      redis.call('HDEL', KEYS[1], 'isStalled')
    end
    if ARGV[1] == 'cancelled' then redis.call('HSET', KEYS[1], 'finishedAtMs', ARGV[2]) end
    local is_approved = state == 'awaiting-approval' and ARGV[1] == 'running'
    if is_approved then redis.call('HSET', KEYS[1], 'startedAtMs', ARGV[2], 'approvedBy', ARGV[6]) end
    if state ~= ARGV[1] then
      tell_run(KEYS[2], ARGV[5], is_approved and 'run.approved' or KINDS[ARGV[1]], KEYS[1], ARGV[4], ARGV[6])
    end
    break
  end
end
return state
