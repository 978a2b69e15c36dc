-- Makes one move of a rotation: saves what it changes and tells its events, in one step.
--
-- KEYS  1 the rotation (hash)   2 events (stream)
-- ARGV  1 profile   2 most events kept   3 rotation id   4 state that it has to be in, both '' for none yet
--       5 length of what follows: field, value, … to set   then the length of: field, … to take away
--       then for each event the length of: type, field, value, …
-- Returns 'moved', or 'stale' when the rotation is elsewhere or another one is under way: nothing is done then
-- Atomic: everything. Of two processes that try the same move, one makes it.

local at = redis.call('HMGET', KEYS[1], 'rotationId', 'state')
if (at[1] or '') ~= ARGV[3] or (at[2] or '') ~= ARGV[4] then return 'stale' end
local place = 5
local function take()
  local count = tonumber(ARGV[place])
  local taken = {}
  for i = 1, count do taken[i] = ARGV[place + i] end
  place = place + count + 1
  return taken
end
local set = take()
local away = take()
if #set > 0 then redis.call('HSET', KEYS[1], unpack(set)) end
if #away > 0 then redis.call('HDEL', KEYS[1], unpack(away)) end
while ARGV[place] do
  local event = take()
  tell(KEYS[2], ARGV[2], event[1], ARGV[1], unpack(event, 2))
end
return 'moved'
