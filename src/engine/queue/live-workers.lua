-- Lists the live processes that work on a queue; announces or renews one of them.
--
-- KEYS  1 workers (sorted set: worker -> time at which its entry expires, ms of Redis's clock)
-- ARGV  1 worker to announce or renew, or ''   2 lifetime of its entry, ms
-- Returns the live workers
-- Atomic: everything.

local workers, worker, lives_ms = KEYS[1], ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if worker ~= '' then
  redis.call('ZADD', workers, now + lives_ms, worker)
  redis.call('PEXPIRE', workers, lives_ms)
end
redis.call('ZREMRANGEBYSCORE', workers, '-inf', now)
return redis.call('ZRANGE', workers, 0, -1)
