-- Part of bucket.lua: derives the window, the limit, and the calls of others from responses.

-- A changed limit is accepted at once, but only from a call sent after the current one was reported: an overtaken
-- response is outdated, and would open a bucket that the lower limit has closed. `left` may fall below 0.
local function believe_limit(answer)
  if answer.limit == b.limit then return end
  if b.limit and answer.sent < (b.limit_at or 0) then
    answer.remaining = answer.remaining + b.limit - answer.limit
    return
  end
  if b.limit and b.left then b.left = b.left + answer.limit - b.limit end
  b.limit, b.limit_at = answer.limit, answer.received
end

-- Minimum number of calls of others in this window: spent calls that were not granted by this bucket. `burst` is the
-- most that came between two responses.
local function count_others()
  local count = math.max(b.others, b.limit - b.left - b.granted)
  if not b.others_first then
    b.others_first, b.others_from = count, now
  else
    b.burst = math.max(b.burst or 0, count - b.others)
  end
  b.others = count
end

-- Whether a call was sent after the response that reported the number of calls left; otherwise it was overtaken.
local function is_later(answer)
  return not b.left_at or answer.sent >= b.left_at
end

-- The window of a response: 'this', 'former', 'unclear' (one of these two), 'next', 'either' (this or the next), or
-- 'early' (we assumed a refresh that had not happened).
local function window_of(answer)
  local earliest, latest = refresh_bounds(b)
  if not earliest then return 'this' end
  -- Each call counts: in the same window, less would remain.
  local jumped = b.left and is_later(answer) and answer.limit == b.limit and answer.remaining >= b.left
    and answer.window == b.window and not answer.is_refused
  local from = answer.sent + (answer.seconds - 1) * 1000 - SLACK
  local to = answer.received + (answer.seconds + 1) * 1000 + SLACK
  if jumped then return 'next' end
  if to >= earliest and from <= latest then
    local may_be_former = answer.window < b.window and to - period >= earliest - 2 * period and from <= latest - period
    if may_be_former then return 'unclear' end
    -- A slow response of an overtaken call: neither the time nor the count shows whether the refresh came before it.
    local may_be_next = answer.received > earliest and to >= earliest + period and from <= latest + period
    return not is_later(answer) and may_be_next and 'either' or 'this'
  end
  if from > latest then return 'next' end
  -- A call that was sent before one that is known to be of this window was overtaken.
  local is_overtaken = b.after and answer.sent < b.after
  return (answer.window < b.window or is_overtaken) and 'former' or 'early'
end

local function hear(answer)
  local which = window_of(answer)
  if which == 'former' or which == 'unclear' then
    -- The response belongs to a past window; if that is uncertain, its call may count in this one.
    if which == 'unclear' then b.lost = b.lost + 1 end
    -- Sent after the refresh that we assumed, and created before it: what was learned of the rounding is wrong.
    if which == 'former' and answer.window == b.window then b.ways = 'und' end
    believe_limit(answer)
    return
  end
  local limit = b.limit
  believe_limit(answer)
  -- A count that continues is no new window: what it holds are not calls of others.
  local goes_on = which == 'next' and b.left and answer.remaining < b.left
  if which == 'next' then
    -- The platform refreshed before the latest possible time: that narrows the time and determines the rounding.
    b.before = math.min(b.before or math.huge, answer.received + SLACK)
    local holds = rule_out(b)
    if not holds then b.ways = 'und' end
    if holds and is_periodic() then
      shift(b, period)
      open_window(answer.received, limit)
      if not (b.floor and tighten(b, answer, period)) then adopt(b, answer, period) end
    else
      open_window(answer.received, limit)
      adopt(b, answer, period)
    end
    b.granted = math.max(b.granted + 1, goes_on and answer.limit - answer.remaining or 0)
  elseif which == 'early' then
    -- The windows are not consecutive, or the platform restarted: each window is treated separately for a while, longer
    -- the more often this happens.
    b.misses = math.min(b.misses + 1, 10)
    b.alone_until, b.ways, b.left = b.window + 5 * 2 ^ b.misses, 'und', nil
    adopt(b, answer, period)
  elseif which == 'either' then
    b.either = (b.either or 0) + 1
  else
    -- Of an overtaken call, a response that contradicts the later ones is outdated.
    local fits = b.floor and tighten(b, answer, period)
    if not fits and is_later(answer) then adopt(b, answer, period) end
  end
  if not b.left or answer.remaining < b.left then
    b.left, b.left_at = answer.remaining, answer.received
  end
  if answer.serial > (b.lost_serial or 0) then b.lost = 0 end
  local took = answer.received - answer.sent
  b.round_trip = b.round_trip and math.min(took, b.round_trip * 1.01) or took
  count_others()
end

local function block(answer)
  b.throttled = b.throttled + 1
  local _, latest = refresh_bounds(b)
  local was_former = latest and answer.window < b.window and answer.seconds and
    answer.received + (answer.seconds + 1) * 1000 < latest - period / 2
  if was_former then return end
  if answer.retry > 0 and (not latest or now + answer.retry > latest + 1500) then b.blocked = now + answer.retry end
  if b.limit and latest and answer.seconds then
    b.left, b.left_at = math.min(b.left or 0, 0), answer.received
  elseif not b.blocked then
    b.blocked = latest or (now + period)
  end
end

local ELEVEN_VALUES = '^' .. string.rep('([^,]*),', 10) .. '([^,]*)$'

local function take_in(observation)
  local permit, kind, window, serial, granted_at, sent_after, received_ago, limit, remaining, seconds, retry =
    string.match(observation, ELEVEN_VALUES)
  local held = redis.call('HDEL', KEYS[2], process .. ':' .. permit)
  in_flight = in_flight - held
  local answer = {
    window = tonumber(window), serial = tonumber(serial), retry = tonumber(retry),
    sent = tonumber(granted_at) + tonumber(sent_after), received = now - tonumber(received_ago),
    limit = tonumber(limit), remaining = tonumber(remaining), seconds = tonumber(seconds), is_refused = kind == 'throttled',
  }
  if kind == 'back' then
    if answer.window == b.window then b.granted = b.granted - held end
    return
  end
  if answer.limit then hear(answer) end
  b.calls = b.calls + 1
  if kind == 'throttled' then
    block(answer)
  elseif not answer.limit and answer.window == b.window then
    -- Possibly counted: treat it as spent until the response to a later call reports how many are left.
    b.lost, b.lost_serial = b.lost + 1, b.serial
  end
end
