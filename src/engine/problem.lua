-- Included in other scripts: the current problem of a record (hash), which is the reason why its work makes no
-- progress. It is JSON as in problem.ts; a script decodes only what it has encoded itself.
--
-- record_problem(key, now, message, next) counts a failed attempt; `next` is the time of the next attempt, ms. Returns
--   the time of the first failure since the last success. If several attempts are scheduled, it keeps the earliest.
-- clear_problem(key) removes it after a success.

local function record_problem(key, now, message, next)
  local known = redis.call('HGET', key, 'problem')
  local problem = known and cjson.decode(known) or { sinceMs = tonumber(now), attempts = 0, nextAttemptMs = 0 }
  local planned, wanted = problem.nextAttemptMs, tonumber(next)
  if planned <= tonumber(now) or planned > wanted then problem.nextAttemptMs = wanted end
  problem.message, problem.attempts = message, problem.attempts + 1
  redis.call('HSET', key, 'problem', cjson.encode(problem))
  return problem.sinceMs
end

local function clear_problem(key)
  redis.call('HDEL', key, 'problem', 'problemHeldUntilMs')
end
