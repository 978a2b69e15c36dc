-- One bucket's exchange: take in what answers said, then grant permits for calls. Runs after refresh-instant.lua.
--
-- KEYS  1 bucket hash   2 permits in flight (hash: id -> end of lease)   3 set of all buckets   4 waiters (hash)
-- ARGV  1 bucket name   2 period, ms   3 reserve, share   4 lease of a permit, ms
--       5 process id   6 permits wanted   7 number of the first permit wanted   8 urgency, 'normal' or 'priority'
--       9 calls that the callers still want in all, or -1 when unknown
--       10 … observations, eleven values each:
--          permit number, kind ('answered' 'throttled' 'lost' 'back'), window, serial, granted at, sent after ms,
--          received ms ago, limit, remaining, seconds before refresh (these three '' without headers), retry after ms
-- Returns { now, window, first serial, granted, wait ms (0: ask again when an answer came), limit, left, in flight,
--           reserved, refresh earliest, refresh latest, frozen until } ; instants in ms of Redis's clock, '' for unknown
-- Atomic: everything. A permit is a spent call from here on, for all processes, until it is answered, given back, or
-- its lease ends. Running it twice with the same numbers grants the same permits, not more.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local period, share, lease = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local process, want, first_id = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local urgent, backlog = ARGV[8] == 'priority', tonumber(ARGV[9])

local LONE_CALL_MS = 500   -- how long one call that asks alone keeps the others waiting
local PROBE_MS = 250       -- how long an asked question may go unanswered before the next one
local SURE_MS = 30         -- doubt about the refresh that is not worth a question; nor is one call's round trip
local BACKLOG_MS = 2500    -- how long one process's word on the demand counts for the others
local LOOK_MS = 50         -- when to look again whether a call must be kept back at all
local POLL_MS = 15         -- when to look again for what another process may have heard
local STALE_MS = 1000      -- after this long without an answer, one call asks before others follow
local SET_BACK_MS = 1000   -- a step back of Redis's clock that an exchange must notice

local NUMBERS = { 'limit', 'left', 'left_at', 'window', 'serial', 'granted', 'lone_at', 'lost', 'lost_serial',
  'floor', 'ceiling', 'after', 'before', 'frozen', 'others', 'others_first', 'others_from', 'asked_at', 'calls',
  'throttled', 'alone_until', 'misses', 'backlog', 'backlog_at', 'round_trip',
  'limit_at', 'run_at' }
local stored = redis.call('HMGET', KEYS[1], 'ways', unpack(NUMBERS))
local b = { ways = stored[1] or 'und' }
for i, name in ipairs(NUMBERS) do b[name] = tonumber(stored[i + 1] or '') end
b.window, b.serial, b.granted, b.lost = b.window or 0, b.serial or 0, b.granted or 0, b.lost or 0
b.calls, b.throttled, b.others = b.calls or 0, b.throttled or 0, b.others or 0
b.alone_until, b.misses = b.alone_until or 0, b.misses or 0
local in_flight = redis.call('HLEN', KEYS[2])

-- Asked again after a broken connection: what this same question was granted is granted anew, not on top.
local function take_back_own()
  local own = {}
  for i = 0, want - 1 do own[#own + 1] = process .. ':' .. string.format('%d', first_id + i) end
  if #own == 0 then return end
  local again = redis.call('HDEL', KEYS[2], unpack(own))
  in_flight, b.granted = in_flight - again, b.granted - again
end

local function forget_ended_leases()
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local ends = tonumber(all[i + 1])
    if ends <= now or ends > now + lease + SET_BACK_MS then
      in_flight = in_flight - redis.call('HDEL', KEYS[2], all[i])
    end
  end
end

-- A new window: what is still in flight may be counted in it, what was lost before it is not.
local function open_window()
  b.window = b.window + 1
  b.left, b.left_at, b.lone_at, b.lost = nil, nil, nil, 0
  forget_ended_leases()
  b.granted = in_flight
  b.others, b.others_first, b.others_from = 0, nil, nil
end

-- Whether windows are taken to follow each other at once, so that one refresh tells the next.
local function is_periodic()
  return b.window >= b.alone_until
end

-- Redis's clock was set back, or another machine took over with its own: no instant that was noted means anything now.
local function forget_future()
  if b.run_at and now < b.run_at - SET_BACK_MS then
    b.floor, b.ceiling, b.after, b.before, b.frozen = nil, nil, nil, nil, nil
    b.asked_at, b.limit_at, b.backlog_at = nil, nil, nil
    open_window()
  end
  b.run_at = now
end

-- The refresh has surely come: past the latest instant that it can be.
local function pass_refresh()
  if b.frozen and now >= b.frozen then b.frozen = nil end
  local _, latest = refresh_bounds(b)
  if not latest or now < latest then return end
  if not is_periodic() then
    b.floor, b.ceiling, b.after, b.before = nil, nil, nil, nil
  else
    shift(b, period * (1 + math.floor((now - latest) / period)))
  end
  open_window()
end

-- Another limit is believed at once, but only from a call that went out after the present one was told: an answer that
-- was overtaken tells of the past, and would open a bucket that the lower limit has shut. `left` may fall below 0.
local function believe_limit(answer)
  if answer.limit == b.limit then return end
  if b.limit and answer.sent < (b.limit_at or 0) then
    answer.remaining = answer.remaining + b.limit - answer.limit
    return
  end
  if b.limit and b.left then b.left = b.left + answer.limit - b.limit end
  b.limit, b.limit_at = answer.limit, answer.received
end

-- Calls of others in this window, at least: what is spent and was not granted here.
local function count_others()
  b.others = math.max(b.others, b.limit - b.left - b.granted)
  if not b.others_first then b.others_first, b.others_from = b.others, now end
end

-- Which window an answer tells of: 'this', 'former', 'unclear' (one of these two), 'next', or 'early' (we passed a
-- refresh that had not come).
local function window_of(answer)
  local earliest, latest = refresh_bounds(b)
  if not earliest then return 'this' end
  local jumped = b.left and answer.limit == b.limit and answer.remaining > b.left and b.left_at
    and answer.sent > b.left_at and answer.window == b.window
  local from = answer.sent + (answer.seconds - 1) * 1000 - SLACK
  local to = answer.received + (answer.seconds + 1) * 1000 + SLACK
  if jumped then return 'next' end
  if to >= earliest and from <= latest then
    local may_be_former = answer.window < b.window and to - period >= earliest - 2 * period and from <= latest - period
    return may_be_former and 'unclear' or 'this'
  end
  if from > latest then return 'next' end
  return answer.window < b.window and 'former' or 'early'
end

local function hear(answer)
  local which = window_of(answer)
  if which == 'former' or which == 'unclear' then
    -- Tells of a window that is over; where that is not sure, it may have been counted in this one.
    if which == 'unclear' then b.lost = b.lost + 1 end
    believe_limit(answer)
    return
  end
  believe_limit(answer)
  if which == 'next' then
    -- The platform refreshed earlier than we could be sure of: that brackets the instant and tells the rounding.
    b.before = math.min(b.before or math.huge, answer.received + SLACK)
    local holds = rule_out(b)
    if holds and is_periodic() then
      shift(b, period)
      open_window()
      if not b.floor then adopt(b, answer, period) else tighten(b, answer, period) end
    else
      open_window()
      adopt(b, answer, period)
    end
    b.granted = b.granted + 1
  elseif which == 'early' then
    -- Windows that do not follow each other at once, or a platform that started anew: each window speaks for itself
    -- for a while, the longer the more often this happens.
    b.misses = math.min(b.misses + 1, 10)
    b.alone_until, b.ways, b.left = b.window + 5 * 2 ^ b.misses, 'und', nil
    adopt(b, answer, period)
  elseif b.floor then
    tighten(b, answer, period)
  else
    adopt(b, answer, period)
  end
  if not b.left or answer.remaining < b.left then
    b.left, b.left_at = answer.remaining, answer.received
  end
  if answer.serial > (b.lost_serial or 0) then b.lost = 0 end
  local took = answer.received - answer.sent
  b.round_trip = b.round_trip and math.min(took, b.round_trip * 1.01) or took
  count_others()
end

local function freeze(answer)
  b.throttled = b.throttled + 1
  local _, latest = refresh_bounds(b)
  local was_former = latest and answer.window < b.window and answer.seconds and
    answer.received + (answer.seconds + 1) * 1000 < latest - period / 2
  if was_former then return end
  if answer.retry > 0 and (not latest or now + answer.retry > latest + 1500) then b.frozen = now + answer.retry end
  if b.limit and latest and answer.seconds then
    b.left, b.left_at = math.min(b.left or 0, 0), answer.received
  elseif not b.frozen then
    b.frozen = latest or (now + period)
  end
end

local function take_in(at)
  local id, kind = process .. ':' .. ARGV[at], ARGV[at + 1]
  local held = redis.call('HDEL', KEYS[2], id)
  in_flight = in_flight - held
  local granted_at = tonumber(ARGV[at + 4])
  local answer = {
    window = tonumber(ARGV[at + 2]), serial = tonumber(ARGV[at + 3]),
    sent = granted_at + tonumber(ARGV[at + 5]), received = now - tonumber(ARGV[at + 6]),
    limit = tonumber(ARGV[at + 7]), remaining = tonumber(ARGV[at + 8]), seconds = tonumber(ARGV[at + 9]),
    retry = tonumber(ARGV[at + 10]),
  }
  if kind == 'back' then
    if answer.window == b.window then b.granted = b.granted - held end
    return
  end
  b.calls = b.calls + 1
  if answer.limit then hear(answer) end
  if kind == 'throttled' then
    freeze(answer)
  elseif not answer.limit and answer.window == b.window then
    -- Perhaps counted, perhaps not: spent until an answer to a later call says how many are left.
    b.lost, b.lost_serial = b.lost + 1, b.serial
  end
end

-- Calls that another caller makes keep away from the last ones: one that comes between is a 429 for us.
local function company_margin()
  local growth = b.others - (b.others_first or b.others)
  if growth <= 0 then return 0 end
  local rate = growth / math.max(500, now - b.others_from)
  return math.min(1 + math.ceil(rate * 250), math.max(1, math.ceil(b.limit * 0.03)))
end

-- Calls kept back from an almost spent window so that they can ask about the refresh later, without risking a 429:
-- `ticks` at instants that halve the doubt about the second hand, `crossing` past the earliest possible refresh.
local function held_back(free, reserved)
  if not b.floor or (backlog >= 0 and backlog - in_flight <= free) then return 0, 0 end
  local earliest, latest = refresh_bounds(b)
  if latest - earliest <= SURE_MS then return 0, 0 end
  local doubt = b.ceiling - b.floor + 1000
  local sure = math.max(SURE_MS, 1.3 * (b.round_trip or 0))
  local ticks = 0
  if doubt > sure and now < earliest - 1200 then
    ticks = math.min(math.ceil(math.log(doubt / (sure * 0.7)) / math.log(2)), math.max(1, math.floor(b.limit / 10)))
  end
  -- A question past the refresh leaves its call of the old window unused: free only where no window is needed for it.
  local per_window = math.max(1, b.limit - reserved)
  local is_free = backlog < 0 or (backlog - in_flight - free) % per_window ~= 0
  return ticks, (is_free and #b.ways > 1) and 1 or 0
end

-- Milliseconds until the next question is due: 0 when it is now; nil when there is none to ask.
local function next_question(ticks, crossing)
  if ticks > 0 then
    local phase = ((b.floor + b.ceiling) / 2 - 500 - now) % 1000
    if phase > 1000 - 4 then phase = 0 end
    return phase < 4 and 0 or phase
  end
  if crossing > 0 then
    local _, _, first_hi = refresh_bounds(b)
    return math.max(0, first_hi + 2 - now)
  end
  return nil
end

local function grants()
  if want <= 0 then return 0, 0 end
  if b.frozen then return 0, b.frozen - now end
  local _, latest = refresh_bounds(b)
  local until_refresh = latest and latest - now or POLL_MS
  if not b.limit or not b.left then
    -- Nothing is known of this window: one call goes out alone to ask.
    if b.lone_at and now - b.lone_at < LONE_CALL_MS then return 0, POLL_MS end
    if b.limit and in_flight >= b.limit then forget_ended_leases() end
    if b.limit and in_flight >= b.limit then return 0, 100 end
    -- Answers that keep getting lost must not make the asking overrun the limit.
    if b.limit and latest and in_flight + b.lost >= b.limit then return 0, until_refresh end
    b.lone_at = now
    return 1, 0
  end
  local reserved = math.ceil(b.limit * share)
  local kept = (urgent and 0 or math.max(0, reserved - b.others)) + company_margin()
  local free = b.left - kept - in_flight - b.lost
  if free <= 0 and in_flight > 0 then
    forget_ended_leases()
    free = b.left - kept - in_flight - b.lost
  end
  if free <= 0 then
    -- Answers that are on their way may show that more is left.
    if b.left - kept > 0 and in_flight > 0 then return 0, math.min(POLL_MS, until_refresh) end
    return 0, until_refresh
  end
  local ticks, crossing = held_back(free, reserved)
  local open = free - ticks - crossing
  if open > 0 and now - b.left_at > STALE_MS then
    -- Others may have spent what was left when it was last heard: one call goes out alone to ask.
    if in_flight == 0 then
      b.lone_at = now
      return 1, 0
    end
    if in_flight == 1 and b.lone_at and now - b.lone_at < LONE_CALL_MS then return 0, POLL_MS end
  end
  if open > 0 then return math.min(want, open), 0 end
  local question = next_question(ticks, crossing)
  if b.asked_at and now - b.asked_at < PROBE_MS and in_flight > 0 then return 0, POLL_MS end
  -- Demand may turn out to be met by what is left: then nothing is kept back for questions, so look again soon.
  if question > 0 then return 0, math.min(question, until_refresh, question < 1000 and LOOK_MS or question) end
  b.asked_at = now
  return 1, 0
end

-- Demand only falls while nothing new is submitted, and each process knows of it with another delay: the least that any
-- of them said of late is the nearest to the truth.
local function believe_backlog()
  if backlog < 0 then return end
  if not b.backlog or backlog <= b.backlog or now - b.backlog_at > BACKLOG_MS then
    b.backlog, b.backlog_at = backlog, now
  else
    backlog = b.backlog
  end
end

take_back_own()
forget_future()
pass_refresh()
believe_backlog()
for at = 10, #ARGV, 11 do take_in(at) end
pass_refresh()
local granted, wait = grants()
local first_serial = b.serial + 1
for i = 0, granted - 1 do
  local id = process .. ':' .. string.format('%d', first_id + i)
  in_flight = in_flight + redis.call('HSET', KEYS[2], id, string.format('%.0f', now + lease))
end
b.serial, b.granted = b.serial + granted, b.granted + granted
if want > granted then
  redis.call('HSET', KEYS[4], process, string.format('%d:%.0f', want - granted, now))
  redis.call('PEXPIRE', KEYS[4], 60000)
end

local write, gone = { 'ways', b.ways }, {}
for _, name in ipairs(NUMBERS) do
  if b[name] then
    write[#write + 1] = name
    write[#write + 1] = string.format('%.3f', b[name])
  else
    gone[#gone + 1] = name
  end
end
redis.call('HSET', KEYS[1], unpack(write))
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
redis.call('SADD', KEYS[3], ARGV[1])

local earliest, latest = refresh_bounds(b)
local function shown(number) return number and string.format('%.3f', number) or '' end
return { shown(now), b.window, first_serial, granted, shown(math.max(0, wait)), shown(b.limit),
  shown(b.left and math.max(0, b.left)), in_flight,
  shown(b.limit and math.ceil(b.limit * share)), shown(earliest), shown(latest), shown(b.frozen) }
