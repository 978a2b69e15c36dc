-- Part of bucket.lua: how many calls may go out now, and how long to wait when none may.

local LONE_CALL_MS = 500   -- how long one call that asks alone keeps the others waiting
local PROBE_MS = 250       -- how long an asked question may go unanswered before the next one
local SURE_MS = 30         -- doubt about the refresh that is not worth a question; nor is one call's round trip
local LOOK_MS = 50         -- when to look again whether a call must be kept back at all
local QUIET_MS = 120       -- when what is known of the demand has caught up with the answers
local POLL_MS = 15         -- when to look again for what another process may have heard
local STALE_MS = 1000      -- after this long without an answer, one call asks before others follow

-- Calls that another caller makes keep away from the last ones: one that comes between is a 429 for us.
local function company_margin()
  local growth = b.others - (b.others_first or b.others)
  if growth <= 0 then return 0 end
  local rate = growth / math.max(500, now - b.others_from)
  return math.min(1 + math.ceil(rate * 250), math.max(1, math.ceil(b.limit * 0.03)))
end

-- Whether the demand that was told is the demand there is.
local function is_quiet()
  return backlog < 0 or (in_flight == 0 and now - (b.backlog_since or 0) > QUIET_MS)
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
  -- What is known of the demand lags behind while calls are under way; the last call is not spent on such a number.
  local per_window = math.max(1, b.limit - reserved)
  -- Where no demand was told, nobody may be there to ask with it, and a caller would be kept waiting for nothing.
  local is_free = backlog >= 0 and (not is_quiet() or (backlog - in_flight - free) % per_window ~= 0)
  local crossing = (is_free and #b.ways > 1) and 1 or 0
  -- A crossing ends a second of doubt, a tick some milliseconds: the last call is not spent on a tick.
  return math.min(ticks, math.max(0, free - crossing)), crossing
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
  local is_certain = question >= 1000 and is_quiet()
  if question > 0 then return 0, math.min(question, until_refresh, is_certain and question or LOOK_MS) end
  b.asked_at = now
  return 1, 0
end
