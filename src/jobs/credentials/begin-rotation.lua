-- Begins a rotation, unless one with its name is in progress.
--
-- KEYS  1 the rotation (hash)   2 names of the profile's rotations (set)
-- ARGV  1 name   2 fields of the previous rotation to remove, separated by commas   3 … field, value, …
-- Returns the id of the rotation that is now in progress
-- Atomic: everything. Fields that outlive a rotation (the active set, since when) are kept.

local name, removed_fields = ARGV[1], ARGV[2]
local before = redis.call('HMGET', KEYS[1], 'rotationId', 'state')
local is_under_way = before[2] and before[2] ~= 'done' and before[2] ~= 'failed'
if is_under_way then return before[1] end
for field in string.gmatch(removed_fields, '[^,]+') do redis.call('HDEL', KEYS[1], field) end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
redis.call('SADD', KEYS[2], name)
return redis.call('HGET', KEYS[1], 'rotationId')
