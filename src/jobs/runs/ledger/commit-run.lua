-- Makes a drafted run real: from here on it is in the list, and its rows are worked on.
--
-- KEYS  1 run head (hash)   2 its drafted rows (hash that expires: segment -> packed rows)   3 the same for good
--       4 runs (sorted set)   5 event feed (stream)
-- ARGV  1 run id   2 segments   3 made at, ms   4 most events kept   5 who submitted it, or ''   6 … fields of the head
-- Returns 'committed'; 'exists' when there is a run of this id already; 'expired' when a segment has expired. Nothing is
--   changed in the last two cases, but that 'exists' drops the draft.
-- Atomic: everything. A run that is there already stays as it is, and the draft goes: doing this twice changes nothing.
-- Moves: (none) -> running | awaiting-approval | completed (no row makes a call)

if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('UNLINK', KEYS[2])
  -- The same draft comes twice when the first answer was lost.
  return redis.call('HGET', KEYS[1], 'draft') == KEYS[2] and 'committed' or 'exists'
end
local segments = tonumber(ARGV[2])
if redis.call('HLEN', KEYS[2]) < segments then return 'expired' end
if segments > 0 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PERSIST', KEYS[3])
end
redis.call('HSET', KEYS[1], 'draft', KEYS[2], unpack(ARGV, 6))
redis.call('ZADD', KEYS[4], ARGV[3], ARGV[1])
tell_run(KEYS[5], ARGV[4], 'run.submitted', KEYS[1], ARGV[1], ARGV[5])
local state = redis.call('HGET', KEYS[1], 'state')
if state == 'awaiting-approval' then
  tell_run(KEYS[5], ARGV[4], 'run.awaiting-approval', KEYS[1], ARGV[1], ARGV[5])
elseif state == 'completed' then
  tell_run(KEYS[5], ARGV[4], 'run.completed', KEYS[1], ARGV[1], '')
end
return 'committed'
