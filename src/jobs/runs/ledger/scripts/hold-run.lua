-- Renews the leases of workers on a run, and returns the run's state. Every worker that processes rows of the run holds
-- a lease and renews it until its last call has ended.
--
-- KEYS  1 run head (hash)   2 leases on the run (hash: lease -> expiry, ms of Redis's clock)
--       3 runs that it yields to (set)
-- ARGV  1 lease duration, ms   2 … leases
-- Returns the run's state, or 'gone'; 'yielding' if it runs and an overlap with another is not settled (start-run.lua)
-- Atomic: everything. A new lease is granted only while the run is running. So after a run has ended no lease is added,
-- and once the last one is released, the last outcome is written.

local state, supersedes = unpack(redis.call('HMGET', KEYS[1], 'state', 'supersedes'))
if not state then return 'gone' end
if state == 'running' and (supersedes or redis.call('EXISTS', KEYS[3]) == 1) then state = 'yielding' end
local now = redis.call('TIME')
local until_ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000) + tonumber(ARGV[1])
for i = 2, #ARGV do
  if state == 'running' or redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[2], ARGV[i], until_ms)
    redis.call('PEXPIRE', KEYS[2], ARGV[1])
  end
end
return state
