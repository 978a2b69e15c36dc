-- Makes one transition of a record's state machine: saves the changed fields and emits the events.
--
-- KEYS  1 the record (hash)   2 events (stream)
-- ARGV  1 profile   2 maximum number of events kept
--       3 length of the guard, then the guard: field, value, … that the record must have ('' for a missing field)
--       then the length of: field, value, … to set   then the length of: field, … to remove
--       then for each event the length of: type, field, value, …
-- Returns 'moved', or 'stale' if the guard does not match (nothing is changed)
-- Atomic: everything. If two processes try the same transition, one succeeds.

local profile, most_events = ARGV[1], ARGV[2]
local place = 3
local function take()
  local count = tonumber(ARGV[place])
  local taken = {}
  for i = 1, count do taken[i] = ARGV[place + i] end
  place = place + count + 1
  return taken
end
local guard = take()
for i = 1, #guard, 2 do
  if (redis.call('HGET', KEYS[1], guard[i]) or '') ~= guard[i + 1] then return 'stale' end
end
local set = take()
local away = take()
if #set > 0 then redis.call('HSET', KEYS[1], unpack(set)) end
if #away > 0 then redis.call('HDEL', KEYS[1], unpack(away)) end
while ARGV[place] do
  local event = take()
  emit(KEYS[2], most_events, event[1], profile, unpack(event, 2))
end
return 'moved'
