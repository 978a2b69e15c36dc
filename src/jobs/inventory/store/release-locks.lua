-- Releases locks on SIMs, unless they have changed.
--
-- KEYS  1 locks (hash: SIM -> lock, as in take.lua)
-- ARGV  SIM, lock, SIM, lock, …
-- Returns the number of released locks
-- Atomic: everything. A lock that another run has replaced is kept.

local released = 0
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    released = released + redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
return released
