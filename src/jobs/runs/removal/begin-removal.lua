-- Marks the rows of a run as removed, if the run is over: from now on no reader starts with them.
--
-- KEYS  1 run head (hash)   2 leases on the run (hash: lease -> expiry, ms of Redis's clock)
-- ARGV  1 now, ms since the epoch   2 lease duration, ms   3 file of the archived results, or ''
-- Returns 'marked'; 'gone' if there is no such run; 'leased' if calls of it may be in flight; or the run's state if it is
--   not over (nothing is changed)
-- Atomic: everything. No lease is granted on a run that is over (hold-run.lua), so nothing writes its rows afterwards.

local run, leases = KEYS[1], KEYS[2]
local now, lease_ms, archive = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local IS_OVER = { completed = true, aborted = true, cancelled = true }

local state = redis.call('HGET', run, 'state')
if not state then return 'gone' end
if not IS_OVER[state] then return state end
local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for _, until_ms in ipairs(redis.call('HVALS', leases)) do
  -- A lease that ends later was written before Redis's clock was set back.
  local left_ms = tonumber(until_ms) - now_ms
  if left_ms > 0 and left_ms <= lease_ms then return 'leased' end
end
redis.call('HSETNX', run, 'rowsRemovedAtMs', now)
if archive ~= '' then redis.call('HSET', run, 'archive', archive) end
return 'marked'
