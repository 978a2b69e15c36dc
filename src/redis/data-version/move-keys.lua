-- Moves keys of the layout before to their new names, with their expiry.
--
-- KEYS  1 lock   2 … old and new names in pairs
-- ARGV  1 token of this process in the lock   2 duration of the lease on it, ms
-- Returns 'moved'; 'lost' if another process has the lock; 'taken' and a new name that exists already
-- Atomic: everything. A key that is gone was moved before or has expired.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
for i = 2, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 and redis.call('RENAMENX', KEYS[i], KEYS[i + 1]) == 0 then
    return { 'taken', KEYS[i + 1] }
  end
end
return { 'moved' }
