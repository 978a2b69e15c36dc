-- Renews the leases of workers on a run, and returns the run's state. Every worker that processes rows of the run holds a
-- lease and renews it until its last call has ended.
--
-- KEYS  1 run head (hash)   2 leases on the run (hash: lease -> expiry, ms of Redis's clock)
-- ARGV  1 lease duration, ms   2 … leases
-- Returns the run's state, or 'gone'
-- Atomic: everything. A new lease is granted only while the run is running. So after a run has ended no lease is added,
-- and once the last one is released, the last outcome is written.

local state = redis.call('HGET', KEYS[1], 'state')
if not state then return 'gone' end
local now = redis.call('TIME')
local until_ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000) + tonumber(ARGV[1])
for i = 2, #ARGV do
  if state == 'running' or redis.call('HEXISTS', KEYS[2], ARGV[i]) == 1 then
    redis.call('HSET', KEYS[2], ARGV[i], until_ms)
    redis.call('PEXPIRE', KEYS[2], ARGV[1])
  end
end
return state
