-- Makes one transition of a record's state machine: saves the changed fields and emits the events. Requires emit.lua
-- and a condition part before it: unconditional.lua, or one of a feature. Its function refusal(keys, now, args) returns
-- the reply of a move that must not be made, or nil.
--
-- KEYS  1 the record (hash)   2 event stream   3 … keys of the condition
-- ARGV  1 profile   2 maximum number of events kept
--       3 length of the guard, then the guard: field, value, … that the record must have ('' for a missing field)
--       then the length of: arguments of the condition
--       then the length of: field, value, … to set ('now' stands for Redis's time in ms if the name ends with Ms)
--       then the length of: field, … to remove   then for each event the length of: type, field, value, …
-- Returns the time of the move in ms; 'stale' if the guard does not match; or the reply of the condition. Nothing is
--   changed unless it returns the time.
-- Atomic: everything. If two processes try the same transition, one succeeds.

local record, stream, profile, max_events = KEYS[1], KEYS[2], ARGV[1], ARGV[2]

local next_argument = 3
local function next_list()
  local first, length = next_argument + 1, tonumber(ARGV[next_argument])
  next_argument = first + length
  return { unpack(ARGV, first, first + length - 1) }
end

local guard, condition, changed, removed = next_list(), next_list(), next_list(), next_list()
for i = 1, #guard, 2 do
  if (redis.call('HGET', record, guard[i]) or '') ~= guard[i + 1] then return 'stale' end
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local refused = refusal(KEYS, now, condition)
if refused then return refused end
for i = 1, #changed, 2 do
  local field, value = changed[i], changed[i + 1]
  if value == 'now' and string.sub(field, -2) == 'Ms' then changed[i + 1] = string.format('%.0f', now) end
end
if #changed > 0 then redis.call('HSET', record, unpack(changed)) end
if #removed > 0 then redis.call('HDEL', record, unpack(removed)) end
while ARGV[next_argument] do
  local event = next_list()
  emit(stream, max_events, event[1], profile, unpack(event, 2))
end
return now
