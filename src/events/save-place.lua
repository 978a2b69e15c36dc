-- Saves the position of a consumer of the event stream, if the process still has the lease, and renews the lease.
--
-- KEYS  1 lease (string)   2 positions (hash: consumer -> id of the last handled event)
-- ARGV  1 the process's token   2 lease duration, ms; 0 releases it   3 consumer   4 event id; '' keeps the position
-- Returns 1, or 0 if another process has the lease (nothing is changed)
-- Atomic: everything, so that a process that was suspended too long does not move the position back.

local token, lease_ms, consumer, event_id = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if redis.call('GET', KEYS[1]) ~= token then return 0 end
if event_id ~= '' then redis.call('HSET', KEYS[2], consumer, event_id) end
if lease_ms == '0' then redis.call('DEL', KEYS[1]) else redis.call('PEXPIRE', KEYS[1], lease_ms) end
return 1
