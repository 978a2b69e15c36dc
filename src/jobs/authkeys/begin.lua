-- Begins the rotation of a profile's AuthKey, unless one is in progress.
--
-- KEYS  1 the rotation (hash)
-- ARGV  1 id for a new rotation   2 AuthKey to be revoked first, or ''   3 who requested it, or ''
-- Returns the id of the rotation that is now in progress
-- Atomic: everything.

local rotation_id, replace_id, started_by = ARGV[1], ARGV[2], ARGV[3]
local before = redis.call('HMGET', KEYS[1], 'rotationId', 'phase')
if before[1] and before[2] ~= 'done' and before[2] ~= 'failed' then return before[1] end
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'rotationId', rotation_id, 'phase', 'begun', 'startedAtMs', now, 'movedAtMs', now, 'tries', 0)
if replace_id ~= '' then redis.call('HSET', KEYS[1], 'replaceId', replace_id) end
if started_by ~= '' then redis.call('HSET', KEYS[1], 'startedBy', started_by) end
return rotation_id
