-- Reads a run's head, and whether calls may still be out for it although it has been cut short.
--
-- KEYS  1 run head (hash)   2 hands on the run (hash: hand -> until when it is believed, ms of Redis's clock)
-- Returns { fields and values of the head, hands that are believed }; hands are counted only where the run was cut short
-- Atomic: everything. Where it was cut short and has no hand left, no outcome is still to come (hold-run.lua).

local head = redis.call('HGETALL', KEYS[1])
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'aborted' and state ~= 'cancelled' then return { head, 0 } end
local now = redis.call('TIME')
local now_ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local hands = 0
for _, until_ms in ipairs(redis.call('HVALS', KEYS[2])) do
  if tonumber(until_ms) > now_ms then hands = hands + 1 end
end
return { head, hands }
