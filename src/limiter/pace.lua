-- The rate limit of one run: spaces its calls evenly, based on the time of the next call.
--
-- KEYS  1 the pace (string: time of the next call, ms)
-- ARGV  1 milliseconds between calls   2 calls wanted
-- Returns { granted, wait ms until the next is due }
-- Atomic: everything.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local spacing, want = tonumber(ARGV[1]), tonumber(ARGV[2])
local LATE_MS = 50   -- what a waiter that wakes up late may catch up

-- At most one spacing from now: a later time was written before Redis's clock was set back.
local due = math.min(tonumber(redis.call('GET', KEYS[1]) or '0'), now + spacing)
due = math.max(due, now - LATE_MS)
local granted = 0
while granted < want and due <= now do
  granted = granted + 1
  due = due + spacing
end
redis.call('SET', KEYS[1], string.format('%.3f', due), 'PX', string.format('%.0f', math.max(60000, 2 * spacing)))
return { granted, string.format('%.3f', math.max(0, due - now)) }
