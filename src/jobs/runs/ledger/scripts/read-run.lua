-- Reads the heads of runs, and whether calls of them may be in flight.
--
-- KEYS  for each run: head (hash), leases on the run (hash: lease -> expiry, ms of Redis's clock)
-- ARGV  1 lease duration, ms
-- Returns for each run { fields and values of the head, number of valid leases }
-- Atomic: everything. If a run that was aborted or cancelled has no lease left, no outcome is pending (hold-run.lua).

local now = redis.call('TIME')
local now_ms = tonumber(now[1]) * 1000 + math.floor(tonumber(now[2]) / 1000)
local believed_ms = tonumber(ARGV[1])

local function believed_hands(key)
  local count = 0
  local all = redis.call('HGETALL', key)
  for i = 1, #all, 2 do
    local until_ms = tonumber(all[i + 1])
    if until_ms > now_ms then count = count + 1 end
    -- The lease was written before Redis's clock was set back: let it expire one lease duration from now.
    if until_ms > now_ms + believed_ms then redis.call('HSET', key, all[i], now_ms + believed_ms) end
  end
  return count
end

local runs = {}
for at = 1, #KEYS, 2 do
  runs[#runs + 1] = { redis.call('HGETALL', KEYS[at]), believed_hands(KEYS[at + 1]) }
end
return runs
