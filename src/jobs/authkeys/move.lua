-- Makes one transition of an AuthKey's rotation and emits its events.
--
-- KEYS  1 the rotation (hash)   2 users of the profile's AuthKeys (users.lua)   3 event stream
-- ARGV  1 profile   2 maximum number of events kept   3 rotation id   4 expected phase
--       5 AuthKey that no live process may be using, or ''
--       6 length of what follows: field, value, … to set ('now' stands for the current time if the name ends with Ms)
--       then the length of: field, … to remove   then for each event the length of: type, field, value, …
-- Returns 'moved'; 'stale' if the rotation is in another phase or was replaced; 'used' if a live process uses that AuthKey.
--         Nothing is changed unless it returns 'moved'.
-- Atomic: everything. If two processes try the same transition, one succeeds.

local profile, most_events, rotation_id, phase, unused_key = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local at = redis.call('HMGET', KEYS[1], 'rotationId', 'phase')
if at[1] ~= rotation_id or at[2] ~= phase then return 'stale' end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if unused_key ~= '' and is_used(KEYS[2], now, unused_key) then return 'used' end
local place = 6
local function take()
  local count = tonumber(ARGV[place])
  local taken = {}
  for i = 1, count do taken[i] = ARGV[place + i] end
  place = place + count + 1
  return taken
end
local set = take()
for i = 1, #set, 2 do
  local value = set[i + 1]
  if value == 'now' and string.sub(set[i], -2) == 'Ms' then value = string.format('%.0f', now) end
  redis.call('HSET', KEYS[1], set[i], value)
  if set[i] == 'phase' and value ~= phase then
    redis.call('HSET', KEYS[1], 'movedAtMs', string.format('%.0f', now), 'tries', 0)
    redis.call('HDEL', KEYS[1], 'waitsFor', 'problem', 'problemSinceMs', 'problemAttempts', 'problemNextMs')
  end
end
local away = take()
if #away > 0 then redis.call('HDEL', KEYS[1], unpack(away)) end
while ARGV[place] do
  local event = take()
  emit(KEYS[3], most_events, event[1], profile, unpack(event, 2))
end
return 'moved'
