-- Releases claims on SIMs, unless they have changed.
--
-- KEYS  1 claims (hash: SIM -> claim, as in take.lua)
-- ARGV  SIM, claim, SIM, claim, …
-- Returns the number of released claims
-- Atomic: everything. A claim that another run has replaced is kept.

local released = 0
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[at]) == ARGV[at + 1] then
    released = released + redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
return released
