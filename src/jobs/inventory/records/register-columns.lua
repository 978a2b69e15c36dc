-- Assigns columns to fields and codes to values, permanently, as far as there is room.
--
-- KEYS  1 columns (hash: `@field` -> place from 0; `place=value` -> code from 3; `#place` -> values that have one)
-- ARGV  1 number of columns   2 number of coded values per column   3 … field, value, field, value, …
-- Returns nothing: the caller reads the assignments from the hash
-- Atomic: everything.

local FIRST = 3
local columns, values = tonumber(ARGV[1]), tonumber(ARGV[2])
local given = tonumber(redis.call('HGET', KEYS[1], '#') or '0')
for at = 3, #ARGV, 2 do
  local place = redis.call('HGET', KEYS[1], '@' .. ARGV[at])
  if not place and given < columns then
    place = given
    given = redis.call('HINCRBY', KEYS[1], '#', 1)
    redis.call('HSET', KEYS[1], '@' .. ARGV[at], place)
  end
  if place then
    local item, count = place .. '=' .. ARGV[at + 1], '#' .. place
    if redis.call('HEXISTS', KEYS[1], item) == 0 then
      local known = tonumber(redis.call('HGET', KEYS[1], count) or '0')
      if known < values then
        redis.call('HSET', KEYS[1], item, FIRST + known)
        redis.call('HINCRBY', KEYS[1], count, 1)
      end
    end
  end
end
