-- Moves a run from one state to another, if it is in a state that allows it.
--
-- KEYS  1 run head (hash)
-- ARGV  1 new state   2 now, ms since the epoch   3 reason, or ''   4 … states from which the move is allowed
-- Returns the state before the move, or 'gone'; the move was made when that is one of ARGV 4 …
-- Atomic: everything.

local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'gone' end
for i = 4, #ARGV do
  if ARGV[i] == state then
    redis.call('HSET', KEYS[1], 'state', ARGV[1])
    -- What it stood still for is over with the standstill.
    if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'reason', ARGV[3]) else redis.call('HDEL', KEYS[1], 'reason') end
    if ARGV[1] == 'cancelled' then redis.call('HSET', KEYS[1], 'finishedAtMs', ARGV[2]) end
    break
  end
end
return state
