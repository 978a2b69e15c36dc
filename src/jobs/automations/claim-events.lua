-- Claims events for an automation's task, so that it acts on each event once.
--
-- KEYS  1 number of SIMs or tasks of this hour (string)   2 … one claim for each event (string)
-- ARGV  1 id of the task   2 lifetime of claims, s   3 hourly limit
-- Returns the id that each event is claimed for, in order; 'over' if the new claims exceed the hourly limit (nothing is
--         claimed)
-- Atomic: everything. An event that is already claimed keeps its claim.

local task_id, lifetime_s, hourly_limit = ARGV[1], ARGV[2], ARGV[3]
local claims = {}
local new = 0
for i = 2, #KEYS do
  local present = redis.call('GET', KEYS[i])
  claims[i - 1] = present or task_id
  if not present then new = new + 1 end
end
if new == 0 then return claims end
local used = tonumber(redis.call('GET', KEYS[1]) or '0')
if used + new > tonumber(hourly_limit) then return 'over' end
redis.call('SET', KEYS[1], used + new, 'EX', 7200)
for i = 2, #KEYS do redis.call('SET', KEYS[i], claims[i - 1], 'EX', lifetime_s, 'NX') end
return claims
