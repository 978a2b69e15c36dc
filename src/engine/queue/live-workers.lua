-- Lists the live processes that work on queues; announces or renews workers of this process.
--
-- KEYS  of each queue: its workers (sorted set: worker -> time at which its entry expires, ms of Redis's clock)
-- ARGV  1 lifetime of an entry, ms   2.. for each queue the worker to announce or renew, or ''
-- Returns the live workers of the last queue
-- Atomic: everything.

local lives_ms = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for i, workers in ipairs(KEYS) do
  local worker = ARGV[1 + i]
  if worker ~= '' then
    redis.call('ZADD', workers, now + lives_ms, worker)
    redis.call('PEXPIRE', workers, lives_ms)
  end
  redis.call('ZREMRANGEBYSCORE', workers, '-inf', now)
  -- Written before Redis's clock was set back: they expire one lifetime from now.
  for _, later in ipairs(redis.call('ZRANGEBYSCORE', workers, '(' .. now + lives_ms, '+inf')) do
    redis.call('ZADD', workers, now + lives_ms, later)
  end
end
return redis.call('ZRANGE', KEYS[#KEYS], 0, -1)
