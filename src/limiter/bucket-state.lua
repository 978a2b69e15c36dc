-- Part of bucket.lua: the stored state of a bucket, and its changes over time. The table `b` is the bucket while the
-- script runs; bucket.lua writes it back.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local period, share, lease = tonumber(ARGV[2]), tonumber(ARGV[3]) or 0, tonumber(ARGV[4])
local yields = ARGV[3] == 'auto' or share > 0
local process, want, first_id = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local urgent, backlog, ahead = ARGV[8] == 'priority', tonumber(ARGV[9]), tonumber(ARGV[11])

local FIRST_OBSERVATION = 12
local BACKLOG_MS = 2500    -- how long one process's word on the demand counts for the others
local BURST_DECAY = 0.9    -- how much of the largest burst of others the next window expects
local WINDOWS_KEPT = 2880   -- two days of busy minutes
local UNUSED_MS = 30 * 24 * 3600 * 1000   -- a bucket that was unused for so long is deleted
local SET_BACK_MS = 1000   -- a step back of Redis's clock that an exchange must notice

local NUMBERS = { 'limit', 'left', 'left_at', 'window', 'serial', 'granted', 'lone_at', 'lost', 'lost_serial',
  'floor', 'ceiling', 'after', 'before', 'blocked', 'others', 'others_first', 'others_from', 'asked_at', 'calls',
  'throttled', 'alone_until', 'misses', 'backlog', 'backlog_at', 'backlog_since', 'round_trip',
  'limit_at', 'run_at', 'either', 'burst', 'short_window', 'day', 'day_calls', 'day_throttled', 'live', 'live_at',
  'bulk_at', 'calls_before', 'throttled_before', 'need_1', 'need_2', 'need_3', 'need_4', 'need_5' }
local stored = redis.call('HMGET', KEYS[1], unpack(NUMBERS))
local b, before = { ways = redis.call('GET', KEYS[6]) or 'und' }, {}
before.ways = b.ways
for i, name in ipairs(NUMBERS) do
  b[name] = tonumber(stored[i] or '')
  before[name] = b[name]
end
b.window, b.serial, b.granted, b.lost = b.window or 0, b.serial or 0, b.granted or 0, b.lost or 0
b.calls, b.throttled, b.others = b.calls or 0, b.throttled or 0, b.others or 0
b.alone_until, b.misses = b.alone_until or 0, b.misses or 0
b.calls_before, b.throttled_before = b.calls_before or b.calls, b.throttled_before or b.throttled
-- Another bucket has learned what the responses of this one contradict.
if b.floor and not rule_out(b) then b.ways = 'und'; rule_out(b) end
local in_flight = redis.call('HLEN', KEYS[2])

-- A request repeated after a broken connection: its earlier grant is replaced, not added to.
local function take_back_own()
  local own = {}
  for i = 0, want + ahead - 1 do own[#own + 1] = process .. ':' .. string.format('%d', first_id + i) end
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

-- For display: the calls of a window that ended, and the limit that it had. One without calls is left out.
local function keep_window(ended_at, limit)
  local calls, throttled = b.calls - b.calls_before, b.throttled - b.throttled_before
  b.calls_before, b.throttled_before = b.calls, b.throttled
  if calls == 0 then return end
  redis.call('LPUSH', KEYS[5], string.format('%.0f,%d,%d,%d', ended_at, calls, throttled, limit or 0))
  redis.call('LTRIM', KEYS[5], 0, WINDOWS_KEPT - 1)
  redis.call('PEXPIRE', KEYS[5], UNUSED_MS)
end

-- A new window: calls in flight may count in it, and so may those whose window is unknown; calls lost before it do not.
local function open_window(ended_at, limit)
  keep_window(ended_at, limit)
  b.window = b.window + 1
  b.left, b.left_at, b.lone_at = nil, nil, nil
  b.lost, b.lost_serial, b.either = b.either or 0, b.serial, nil
  forget_ended_leases()
  b.granted = in_flight
  for i = 5, 2, -1 do b['need_' .. i] = b['need_' .. i - 1] end
  b.need_1, b.live = b.others + (b.live or 0), nil
  b.others, b.others_first, b.others_from = 0, nil, nil
  b.burst = b.burst and b.burst >= 1 and b.burst * BURST_DECAY or nil
end

-- Whether windows are assumed to be consecutive, so that one refresh determines the next.
local function is_periodic()
  return b.window >= b.alone_until
end

-- Redis's clock was set back, or another machine with a different clock took over: all stored times are invalid.
local function reset_if_clock_went_back()
  if b.run_at and now < b.run_at - SET_BACK_MS then
    b.floor, b.ceiling, b.after, b.before, b.blocked = nil, nil, nil, nil, nil
    b.asked_at, b.limit_at, b.backlog, b.backlog_at, b.backlog_since = nil, nil, nil, nil, nil
    open_window(now, b.limit)
  end
  b.run_at = now
end

-- The refresh has certainly happened: the latest possible time has passed.
local function pass_refresh()
  if b.blocked and now >= b.blocked then b.blocked = nil end
  local _, latest = refresh_bounds(b)
  if not latest or now < latest then return end
  if not is_periodic() then
    b.floor, b.ceiling, b.after, b.before = nil, nil, nil, nil
  else
    shift(b, period * (1 + math.floor((now - latest) / period)))
  end
  open_window(latest, b.limit)
end

-- Demand only decreases while nothing new is submitted, and each process reports it with a different delay: the lowest
-- recent report is the most accurate.
local function apply_reported_backlog()
  -- A process counts a call as wanted until it has handled the response, which is after it has reported it.
  if #ARGV >= FIRST_OBSERVATION then b.backlog_since = now end
  if backlog < 0 then return end
  if not b.backlog or backlog <= b.backlog or now - b.backlog_at > BACKLOG_MS then
    if backlog ~= b.backlog then b.backlog_since = now end
    b.backlog, b.backlog_at = backlog, now
  else
    backlog = b.backlog
  end
end
