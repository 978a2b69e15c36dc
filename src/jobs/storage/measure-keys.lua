-- Finds keys by their common prefix, with the memory of each. SCAN runs in a script, so a cluster asks the right node.
--
-- KEYS  1 a key of the slot
-- ARGV  1 cursor of SCAN   2 pattern   3 how many keys to visit   4 members measured per key to estimate the rest
-- Returns the next cursor, then each key and its bytes
-- Atomic: reads only.

local scanned = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local reply = { scanned[1] }
for _, key in ipairs(scanned[2]) do
  reply[#reply + 1] = key
  reply[#reply + 1] = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', ARGV[4]) or 0
end
return reply
