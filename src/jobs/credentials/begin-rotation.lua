-- Begins a rotation, unless one of its name is under way.
--
-- KEYS  1 the rotation (hash)   2 names of the profile's rotations (set)
-- ARGV  1 name   2 fields that a turn leaves behind and the next begins without, commas between   3 … field, value, …
-- Returns the id of the rotation that is under way now
-- Atomic: everything. What outlives a turn (which set holds, since when) stays.

local before = redis.call('HMGET', KEYS[1], 'rotationId', 'state')
local is_under_way = before[2] and before[2] ~= 'done' and before[2] ~= 'failed'
if is_under_way then return before[1] end
for field in string.gmatch(ARGV[2], '[^,]+') do redis.call('HDEL', KEYS[1], field) end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('SADD', KEYS[2], ARGV[1])
return redis.call('HGET', KEYS[1], 'rotationId')
