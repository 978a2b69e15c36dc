-- Assigns codes to values, permanently.
--
-- KEYS  1 codes (hash: `field=value` -> code from 2)
-- ARGV  the items `field=value`
-- Returns the code of each; 0 if no code is left
-- Atomic: everything.

local FIRST, LAST = 2, 4095
local codes = {}
for at, item in ipairs(ARGV) do
  local code = redis.call('HGET', KEYS[1], item)
  if not code then
    code = FIRST + redis.call('HLEN', KEYS[1])
    if code <= LAST then redis.call('HSET', KEYS[1], item, code) else code = 0 end
  end
  codes[at] = tonumber(code)
end
return codes
