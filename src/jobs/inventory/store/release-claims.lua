-- Lets go of claims on SIMs that are still as they were found.
--
-- KEYS  1 claims (hash: SIM -> "run class")
-- ARGV  SIM, claim, SIM, claim, …
-- Returns how many were let go of
-- Atomic: everything. A claim that another run has taken over since stays.

local released = 0
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    released = released + redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
return released
