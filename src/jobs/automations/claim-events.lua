-- Claims events for what an automation begins, so that each event is acted on once.
--
-- KEYS  1 SIMs or tasks of this hour (string, a count)   2 … one claim for each event (string)
-- ARGV  1 id of what would be begun   2 seconds that claims live   3 most in an hour
-- Returns the id that each event is claimed for, in their order; 'over' when the new ones are more than the hour allows
--         (nothing is claimed then)
-- Atomic: everything. An event that is claimed already keeps what it was claimed for.

local claims = {}
local new = 0
for i = 2, #KEYS do
  local present = redis.call('GET', KEYS[i])
  claims[i - 1] = present or ARGV[1]
  if not present then new = new + 1 end
end
if new == 0 then return claims end
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used + new > tonumber(ARGV[3]) then return 'over' end
redis.call('SET', KEYS[1], used + new, 'EX', 7200)
for i = 2, #KEYS do redis.call('SET', KEYS[i], claims[i - 1], 'EX', ARGV[2], 'NX') end
return claims
