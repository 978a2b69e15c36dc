-- Begins to move the data of the layout before, `simfleet:…`: makes sure that no older worker runs, and that none can start.
--
-- KEYS  1 lock   2 queue names of the old layout (set)
--       3 … old and new names in pairs, of the keys that every older worker opens first
-- ARGV  1 token of this process in the lock   2 common prefix of the old keys of live workers   3 text of the tombstones
-- Returns 'begun'; 'lost' if another process has the lock; 'worker' and a queue if an older worker is live; 'taken' and a
--   key of the new layout that exists already. Except for the first, nothing is changed.
-- Atomic: everything, so that no older worker starts in between. Doing it again has no effect.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function type_of(key) return redis.call('TYPE', key).ok end

if type_of(KEYS[2]) == 'set' then
  for _, queue in ipairs(redis.call('SMEMBERS', KEYS[2])) do
    if redis.call('ZCOUNT', ARGV[2] .. queue, '(' .. now, '+inf') > 0 then return { 'worker', queue } end
  end
end
for i = 3, #KEYS, 2 do
  local is_moved = type_of(KEYS[i]) == 'string' or type_of(KEYS[i]) == 'none'
  if not is_moved and redis.call('EXISTS', KEYS[i + 1]) == 1 then return { 'taken', KEYS[i + 1] } end
end
for i = 3, #KEYS, 2 do
  if type_of(KEYS[i]) ~= 'string' then
    if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], KEYS[i + 1]) end
    -- Of the wrong type: an older simfleet fails here instead of working on an empty store.
    redis.call('SET', KEYS[i], ARGV[3])
  end
end
return { 'begun' }
