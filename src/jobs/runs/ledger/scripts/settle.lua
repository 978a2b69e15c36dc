-- Settles rows of one segment: records each row's final outcome and updates the run's tally.
--
-- KEYS  1 run head (hash)   2 outcomes of the segment (hash: place -> record)   3 tries of the segment (hash)
--       4 finished segments of the run (hash)   5 … 12 the inventory of the run's profile (take.lua)
-- ARGV  1 now, ms since the epoch   2 segment   3 calls made   4 responses with 429   5 profile
--       6 maximum number of events kept   7 run id   8 run that supersedes these rows, or ''
--       9 … one text per row: `place outcome weight SIM fields record`, the outcome being `answered` if a response made
--          it skipped, the fields those that the row sets, separated by commas, or `-`; if the response showed the SIM,
--          three or more lines follow: the returned fields, separated by commas, the time of the SIM's last change
--          before the call or `-`, and a line for each returned field
--          (one text, since long argument lists are expensive for the sender)
-- Returns { state, pending rows, 1 if the wave of this segment has ended without a failed row, or with a gate, else 0 }
-- Atomic: everything. A settled row keeps its outcome, so settling twice has no effect, even if the segment is already
-- packed: a worker that lost its job may come late. A call may be counted twice after a broken connection; an outcome
-- is never counted twice.
-- Moves: running|paused -> completed (all settled), running|paused -> aborted (too many failures, or a row of a wave
-- without a gate failed); the event is emitted in the same step. The last row of a wave starts its soak (end-wave.lua).
-- A usable response clears the run's problem. An ended run stays ended, and still accepts outcomes of calls in flight.

local now, segment, calls, throttled = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local profile, max_events, run, newer = ARGV[5], ARGV[6], ARGV[7], ARGV[8]

local head = redis.call('HMGET', KEYS[1], 'state', 'total', 'done', 'skipped', 'rejected', 'failed', 'failures',
  'maxFailures', 'waveEnd', 'waveLeft', 'startedAtMs', 'problem',
  'problemHeldUntilMs', 'unknown', 'waveStart', 'wave', 'soakMs', 'hasGate')
local state = head[1]
if not state then return { 'gone', 0, 0 } end
local function number(i) return tonumber(head[i] or '') or 0 end
local count = { done = number(3), skipped = number(4), rejected = number(5), failed = number(6), unknown = number(14) }
local failures, wave_left = number(7), number(10)
local is_wave = tonumber(segment) >= number(15) and tonumber(segment) < number(9)
local wave_failed = false
local is_packed = redis.call('HEXISTS', KEYS[4], segment) == 1
local inv = inventory({ unpack(KEYS, 5) }, profile, max_events)

local function set_of(names)
  local set = {}
  for name in string.gmatch(names, '[^,]+') do set[name] = true end
  return set
end

local function take_answer_of(sim, answer, set)
  local fields, basis, lines = string.match(answer, '^\n([^\n]*)\n([^\n]*)\n(.*)$')
  take_answer(inv, sim, { lines = lines, set = set, basis = basis }, set_of(fields), run)
end

-- After this, a change of these fields that a listing shows is external. The other rows of the SIM keep their locks.
local function release_lock(sim, set)
  local lock = redis.call('HGET', inv.locks, sim)
  local owner, lines = string.match(lock or '', '^([^\n]+)\n(.*)$')
  if owner ~= run then return end
  local left = {}
  for line in string.gmatch(lines, '[^\n]+') do
    if not set[string.match(line, '^[^=:]+')] then left[#left + 1] = line end
  end
  if #left == 0 then
    redis.call('HDEL', inv.locks, sim)
  else
    redis.call('HSET', inv.locks, sim, run .. '\n' .. table.concat(left, '\n'))
  end
end

local has_tries = redis.call('EXISTS', KEYS[3]) == 1

local has_settled = false
local superseded = 0
-- A usable response arrived: the platform works again.
local has_answer = false

for at = 9, #ARGV do
  local place, outcome, weight, sim, fields, record, answer =
    string.match(ARGV[at], '^(%d+) (%a+) (%d+) (%S+) (%S+) ([^\n]*)(.*)$')
  local is_answered = outcome == 'answered'
  if is_answered then outcome = 'skipped' end
  if not is_packed and redis.call('HSETNX', KEYS[2], place, record) == 1 then
    if has_tries then redis.call('HDEL', KEYS[3], place) end
    has_settled = true
    has_answer = has_answer or outcome == 'done' or outcome == 'rejected' or is_answered
    weight = tonumber(weight)
    local set = set_of(fields)
    if answer ~= '' then take_answer_of(sim, answer, set) end
    release_lock(sim, set)
    count[outcome] = count[outcome] + weight
    if newer ~= '' then superseded = superseded + weight end
    if is_wave then wave_left = wave_left - 1 end
    if outcome == 'rejected' or outcome == 'failed' or outcome == 'unknown' then
      failures = failures + weight
      if is_wave and not head[18] then wave_failed = true end
    end
  end
end
write_gathered(inv)

local pending = number(2) - count.done - count.skipped - count.rejected - count.failed - count.unknown
local update = { 'done', count.done, 'skipped', count.skipped, 'rejected', count.rejected, 'failed', count.failed,
  'unknown', count.unknown, 'failures', failures, 'waveLeft', wave_left }
local function set(field, value)
  update[#update + 1] = field
  update[#update + 1] = value
end
if not head[11] or head[11] == '' then set('startedAtMs', now) end

if superseded > 0 then redis.call('HINCRBY', KEYS[1], 'superseded.' .. newer, superseded) end
local ended = tonumber(segment) < number(15)
-- If calls were in flight when the run was aborted or cancelled, it finishes with the last of them.
if has_settled and (state == 'aborted' or state == 'cancelled') then set('finishedAtMs', now) end
if state == 'running' or state == 'paused' then
  local max_failures = tonumber(head[8] or '')
  local reason
  if wave_failed then
    reason = number(16) == 0 and 'a canary row failed' or 'a row of wave ' .. number(16) + 1 .. ' failed'
  elseif max_failures and failures > max_failures then
    reason = string.format('%d %s rejected, more than the %d allowed', failures,
      failures == 1 and 'row failed or was' or 'rows failed or were', max_failures)
  end
  if pending <= 0 then
    state = 'completed'
  elseif reason then
    state = 'aborted'
    set('reason', reason)
  elseif is_wave and wave_left <= 0 then
    ended = true
    set('waveStart', number(9))
    set('soakUntilMs', string.format('%.0f', tonumber(inv.now) + number(17)))
  end
  if state == 'completed' or state == 'aborted' then
    set('state', state)
    set('finishedAtMs', now)
  end
end
redis.call('HSET', KEYS[1], unpack(update))
local is_held = number(13) > tonumber(now)
if head[12] and ((has_answer and not is_held) or (state ~= 'running' and state ~= 'paused')) then
  clear_problem(KEYS[1])
  local was_stalled = redis.call('HDEL', KEYS[1], 'isStalled') == 1
  if was_stalled and has_answer then emit_run(KEYS[11], max_events, 'run.recovered', KEYS[1], run, '', '') end
end
if head[1] ~= state then emit_run(KEYS[11], max_events, 'run.' .. state, KEYS[1], run, '') end
if calls > 0 then redis.call('HINCRBY', KEYS[1], 'calls', calls) end
if throttled > 0 then redis.call('HINCRBY', KEYS[1], 'throttled', throttled) end
return { state, pending, ended and 1 or 0 }
