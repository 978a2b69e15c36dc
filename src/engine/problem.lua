-- Included in other scripts: the current problem of a record (hash), which is the reason why its work makes no progress.
--
-- record_problem(key, now, message, next) counts a failed attempt; `next` is the time of the next attempt, in ms. Returns
--   the time of the first failure since the last success. If several attempts are scheduled, the earliest is kept.
-- clear_problem(key) removes it after a success. Returns whether there was one.

local function record_problem(key, now, message, next)
  local known = redis.call('HMGET', key, 'problemSinceMs', 'problemNextMs')
  local since, planned = known[1] or now, tonumber(known[2] or '')
  if planned and planned > tonumber(now) and planned < tonumber(next) then next = planned end
  redis.call('HSET', key, 'problem', message, 'problemSinceMs', since, 'problemNextMs', next)
  redis.call('HINCRBY', key, 'problemAttempts', 1)
  return tonumber(since)
end

local function clear_problem(key)
  return redis.call('HDEL', key, 'problem', 'problemSinceMs', 'problemNextMs', 'problemAttempts',
    'problemHeldUntilMs') > 0
end
