-- Says that work on a run goes on, and how the run stands: whoever works on rows of it has a hand on it, and renews that
-- until its last call has ended.
--
-- KEYS  1 run head (hash)   2 hands on the run (hash: hand -> until when it is believed, ms of Redis's clock)
-- ARGV  1 how long a hand is believed, ms   2 … hands
-- Returns the run's state, or 'gone'
-- Atomic: everything. A hand is taken on while the run is running alone, so that once a run is over there are no more
-- hands than there were, and with the last of them the last outcome is in.

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
