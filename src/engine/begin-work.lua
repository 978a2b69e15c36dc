-- Marks a piece of work as started by a process, unless too many processes have died with it.
--
-- KEYS  1 marks of the work (hash: process -> time at which it started, ms of Redis's clock)
--       2 live processes (sorted set: process -> time at which its entry expires, live-workers.lua)
-- ARGV  1 the process   2 number of deaths after which the work is quarantined   3 how long a death counts, ms
-- Returns 'begun'; 'quarantined' if so many processes left a mark and are gone: the marks are removed then, and the
--   caller quarantines the work
-- Atomic: everything.

local marks, live, process, max_deaths, counts_ms = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local found = redis.call('HGETALL', marks)
local deaths = 0
for i = 1, #found, 2 do
  local other, began = found[i], tonumber(found[i + 1])
  local expires = tonumber(redis.call('ZSCORE', live, other) or '0')
  if other ~= process and expires <= now and now - began < counts_ms then deaths = deaths + 1 end
end
if deaths >= max_deaths then
  redis.call('UNLINK', marks)
  return 'quarantined'
end
redis.call('HSET', marks, process, now)
redis.call('PEXPIRE', marks, counts_ms)
return 'begun'
