-- Gives the lock back; sets the version of the data if all of them are of this version.
--
-- KEYS  1 lock   2 version (string)
-- ARGV  1 token of this process in the lock   2 version, or '' to set none
-- Returns 'finished'; 'lost' if another process has the lock (nothing is changed)
-- Atomic: everything

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return { 'lost' } end
if ARGV[2] ~= '' then redis.call('SET', KEYS[2], ARGV[2]) end
redis.call('DEL', KEYS[1])
return { 'finished' }
