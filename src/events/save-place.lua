-- Saves how far a consumer of the feed has come, if the process still has the lease, and lengthens the lease.
--
-- KEYS  1 lease (string)   2 places (hash: consumer -> id of the last event that is handled)
-- ARGV  1 the process's token   2 ms that the lease lives on; 0 gives it back   3 consumer   4 event id, or '' to leave it
-- Returns 1, or 0 when another process has the lease (nothing is changed then)
-- Atomic: everything, so that a process that was away too long does not set the place back.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[4] ~= '' then redis.call('HSET', KEYS[2], ARGV[3], ARGV[4]) end
if ARGV[2] == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
