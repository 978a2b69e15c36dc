-- Records which fields of SIMs a run is about to set, and to which values.
--
-- KEYS  1 locks (hash: SIM -> lock, as in take.lua)
-- ARGV  1 run id   2 SIM   3 a line for each field: `name=value`, or `name` for none   4 SIM   5 lines   …
-- Returns nil
-- Atomic: everything. The locks of the run's other rows for a SIM are kept; the lock of another run is replaced.

local run = ARGV[1]
local sims = {}
for at = 2, #ARGV, 2 do sims[#sims + 1] = ARGV[at] end
local locks = {}
for i, before in ipairs(redis.call('HMGET', KEYS[1], unpack(sims))) do
  local lines = ARGV[2 * i + 1]
  local owner, others = string.match(before or '', '^([^\n]+)\n(.*)$')
  local lock = { run, lines }
  if owner == run then
    local set = {}
    for name in string.gmatch('\n' .. lines, '\n([^=:\n]+)') do set[name] = true end
    for line in string.gmatch(others, '[^\n]+') do
      if not set[string.match(line, '^[^=:]+')] then lock[#lock + 1] = line end
    end
  end
  locks[2 * i - 1], locks[2 * i] = sims[i], table.concat(lock, '\n')
end
redis.call('HSET', KEYS[1], unpack(locks))
