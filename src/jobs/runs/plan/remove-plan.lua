-- Removes a planned run.
--
-- KEYS  1 run head (hash)   2 rows of the run (hash)   3 plans (hash)
-- ARGV  1 run id
-- Returns 1; 0 if there is no such plan, or it was started (nothing is changed)
-- Atomic: everything, so a run that has just been started is kept.

if redis.call('HGET', KEYS[1], 'state') ~= 'planned' then return 0 end
redis.call('UNLINK', KEYS[1], KEYS[2])
redis.call('HDEL', KEYS[3], ARGV[1])
return 1
