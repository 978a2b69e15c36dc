-- Saves the position of a reader of the event stream, unless another process has moved it.
--
-- KEYS  1 positions (hash: reader -> id of the last handled event)
-- ARGV  1 reader   2 the position it has read from   3 the new one
-- Returns 1, or 0 if the saved position is another one (nothing is changed)
-- Atomic: everything, so that a process that was suspended too long does not move the position back.

local reader, from, to = ARGV[1], ARGV[2], ARGV[3]
local saved = redis.call('HGET', KEYS[1], reader)
if saved and saved ~= from then return 0 end
redis.call('HSET', KEYS[1], reader, to)
return 1
