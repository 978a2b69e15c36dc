-- Part of bucket.lua: how many calls may be sent now, and how long to wait if none may.

local LONE_CALL_MS = 500   -- how long one call that asks alone keeps the others waiting
local PROBE_MS = 250       -- how long an asked question may go unanswered before the next one
local SURE_MS = 30         -- doubt about the refresh that is not worth a question; nor is one call's round trip
local RECHECK_MS = 50      -- when to check again whether a call must be kept back at all
local LAG, LAG_MS = 32, 250   -- how many calls too many may be reported as wanted, and when to check that again
local QUIET_MS = 120       -- when what is known of the demand has caught up with the responses
local POLL_MS = 15         -- when to check again for what another process may have heard
local STALE_MS = 1000      -- after this long without a response, one call asks before others follow
local STALE_BESIDE_OTHERS_MS = 250
local SPREAD = 0.5         -- how much of the limit bulk work spreads over the window, if it cannot end in it
local END_MS = 60          -- how long before the reset nothing is kept for others anymore
local BURST_END = 0.04     -- the part of the window in which the room for one burst goes
local LIVE_END_MS = 250    -- how long before the reset no call is kept for a live one that may come
local AHEAD_MS = 250       -- how long before the reset no permits are granted ahead anymore
local AHEAD_PART = 16      -- one of so many free calls, and of those still wanted, may be granted ahead
local MIN_WAIT_MS, MAX_WAIT_MS = 10, 1500   -- when to ask again for a call that will be free before the reset
local BULK_SHARE = 0.25    -- how much of the limit live calls leave to bulk work that waits
local BULK_MS = 3000       -- how long bulk work that waited counts as waiting
local LIVE_MS = 30000      -- how long after a live call, or word of a gateway, the next one is expected

-- Margin kept free if other callers use the quota: one of their calls in between would cause a 429 for us.
local function company_margin()
  local growth = b.others - (b.others_first or b.others)
  if growth <= 0 then return 0 end
  local rate = growth / math.max(500, now - b.others_from)
  local margin = math.min(1 + math.ceil(rate * 250), math.max(1, math.ceil(b.limit * 0.03)))
  local earliest = refresh_bounds(b)
  if not yields or not earliest or earliest - now > 5 * END_MS then return margin end
  -- At the end of a window others are left in peace, so the margin would be lost: only a likely call counts.
  local seen_ago = now - b.left_at + (b.round_trip or 0)
  return math.min(margin, math.floor(rate * seen_ago + 0.95))
end

-- How many of the last free calls are sent one at a time, because others have called in bursts: one that comes between
-- two of our calls then causes one 429, not one per call in flight. No more than fit into half of the time left.
local function sent_alone(until_refresh)
  if not b.burst or b.burst < 2 then return 0 end
  return math.min(math.ceil(b.burst), math.floor(until_refresh / 2 / math.max(1, b.round_trip or 1)))
end

-- Calls that others needed in the busiest of the last five windows, and live calls of ours.
local function need()
  local max_need = b.others + (b.live or 0)
  for i = 1, 5 do max_need = math.max(max_need, b['need_' .. i] or 0) end
  return max_need
end

-- Calls that bulk work leaves to others with so many milliseconds to the reset: what they are known to need until then,
-- with room for chance; and while more work waits than this window has calls left, some of them anyway, since a caller
-- always rejected is never seen. That costs nothing: the work ends in the same window, and no call is left over.
local function kept_for_others(left_ms, is_short)
  if left_ms <= END_MS then return 0 end
  local share_left = math.min(1, (left_ms - END_MS) / period)
  local needed, burst = need() * share_left, math.max(1, math.min(b.burst or 1, b.limit / 5))
  local kept = needed > 0 and needed + 2 * math.sqrt(needed * burst) + burst * math.min(1, share_left / BURST_END) or 0
  if now - (b.live_at or 0) < LIVE_MS and left_ms > LIVE_END_MS then kept = math.max(kept, 1) end
  return math.floor(is_short and math.max(kept, SPREAD * b.limit * share_left) or kept)
end

-- Whether bulk work waits.
local function is_waited_for()
  return now - (b.bulk_at or 0) <= BULK_MS
end

-- Live calls leave a part of the limit to bulk work that waits: how many calls are kept for it, once they have taken
-- the rest, and how many they may take until then.
local function kept_for_bulk()
  if not is_waited_for() then return 0, math.huge end
  local live, part = b.live or 0, math.ceil(b.limit * BULK_SHARE)
  if live < b.limit - part then return 0, b.limit - part - live end
  return math.max(0, part - (b.granted - live)), math.huge
end

-- Milliseconds until fewer than `max_kept` calls are kept.
local function until_fewer_kept(max_kept, left_ms, is_short)
  local low, high = 0, left_ms
  while high - low > 1 do
    local middle = (low + high) / 2
    if kept_for_others(left_ms - middle, is_short) < max_kept then high = middle else low = middle end
  end
  return math.max(MIN_WAIT_MS, math.min(high, MAX_WAIT_MS))
end

-- The call of a process that died may have been made, and counts in this window like one without a response.
local function lose_ended_leases()
  local before = in_flight
  forget_ended_leases()
  if in_flight < before then b.lost, b.lost_serial = b.lost + before - in_flight, b.serial end
end

-- Whether the reported demand is complete.
local function is_quiet()
  return backlog < 0 or (in_flight == 0 and now - (b.backlog_since or 0) > QUIET_MS)
end

-- Calls held back from an almost spent window, to probe for the refresh later without risking a 429: `ticks` at times
-- that halve the uncertainty about the second, `crossing` after the earliest possible refresh.
local function held_back(free, reserved)
  if not b.floor then return 0, 0 end
  local is_short
  if backlog >= 0 then
    is_short = backlog - in_flight > free
    if not is_short then return 0, 0 end
  else
    -- Unreported demand: others are expected to follow calls in flight, and each window to be like the one before it.
    is_short = want + in_flight > free or b.short_window == b.window - 1
  end
  local earliest, latest, first_hi = refresh_bounds(b)
  if latest - earliest <= SURE_MS then return 0, 0 end
  local doubt = b.ceiling - b.floor + 1000
  local sure = math.max(SURE_MS, 1.3 * (b.round_trip or 0))
  local ticks = 0
  if doubt > sure and now < earliest - 1200 then
    ticks = math.min(math.ceil(math.log(doubt / (sure * 0.7)) / math.log(2)), math.max(1, math.floor(b.limit / 10)))
  end
  -- A probe after the refresh leaves its call of the old window unused: it is free only if no window is needed for it.
  -- The reported demand lags behind while calls are in flight, by a few calls: what may fill the windows exactly then
  -- counts as if it did. An unreported demand rarely ends with a window.
  local per_window = math.max(1, b.limit - reserved)
  local lag = is_quiet() and 0 or math.min(LAG, math.ceil(per_window / 20))
  local is_free = backlog < 0 or (backlog - in_flight - free) % per_window > lag
  local crossing = (is_short and is_free and latest - first_hi > sure) and 1 or 0
  -- A crossing removes a second of uncertainty, a tick only milliseconds: the last call is not spent on a tick.
  return math.min(ticks, math.max(0, free - crossing)), crossing
end

-- Milliseconds until the next probe is due: 0 if it is now; nil if there is none.
local function next_question(ticks, crossing)
  if ticks > 0 then
    local phase = ((b.floor + b.ceiling) / 2 - 500 - now) % 1000
    if phase > 1000 - 4 then phase = 0 end
    return phase < 4 and 0 or phase
  end
  if crossing > 0 then
    local _, _, first_hi = refresh_bounds(b)
    return math.max(0, first_hi + 2 * SLACK + 1 - now) -- late enough to rule out the way that `first_hi` comes from
  end
  return nil
end

-- Permits the next probe if it is due.
local function ask(ticks, crossing, until_refresh)
  local question = next_question(ticks, crossing)
  if b.asked_at and now - b.asked_at < PROBE_MS and in_flight > 0 then return 0, POLL_MS end
  -- The rest may turn out to satisfy the demand: then nothing is held back for probes, so check again soon.
  local is_certain = question >= 1000 and is_quiet()
  if question > 0 then return 0, math.min(question, until_refresh, is_certain and question or RECHECK_MS) end
  b.asked_at = now
  return 1, 0
end

local function grants()
  if want <= 0 then return 0, 0 end
  if b.blocked then return 0, b.blocked - now end
  local _, latest = refresh_bounds(b)
  local until_refresh = latest and latest - now or POLL_MS
  if not b.limit or not b.left then
    -- Nothing is known about this window: one call is sent alone as a probe.
    if b.lone_at and now - b.lone_at < LONE_CALL_MS then return 0, POLL_MS end
    if b.limit and in_flight >= b.limit then lose_ended_leases() end
    if b.limit and in_flight >= b.limit then return 0, 100 end
    -- If responses keep getting lost, probes must not exceed the limit.
    if b.limit and latest and in_flight + b.lost >= b.limit then return 0, until_refresh end
    b.lone_at = now
    return 1, 0
  end
  local reserved = math.ceil(b.limit * share)
  local margin = company_margin()
  local floor, max_open = math.max(0, reserved - b.others), math.huge
  if urgent then floor, max_open = kept_for_bulk() end
  local kept = floor + margin
  local free = b.left - kept - in_flight - b.lost
  if free <= 0 and in_flight > 0 then
    lose_ended_leases()
    free = b.left - kept - in_flight - b.lost
  end
  if free <= 0 then
    -- Pending responses may show that more is left.
    if b.left - kept > 0 and in_flight > 0 then return 0, math.min(POLL_MS, until_refresh) end
    b.short_window = b.window
    -- The margin for others is there to ask across the refresh, too: at worst, that brings the one 429 of a window.
    if free + margin > 0 then
      local _, crossing = held_back(free + margin, reserved)
      if crossing > 0 then return ask(0, crossing, until_refresh) end
    end
    return 0, until_refresh
  end
  local ticks, crossing = held_back(free, reserved)
  local open = math.min(max_open, free - ticks - crossing)
  if yields and not urgent then
    local left_ms = (refresh_bounds(b) or now) - now
    -- Of unreported demand, such as a first sync, only the window before shows that it does not fit.
    local is_short = backlog >= 0 and backlog - in_flight > free or backlog < 0 and b.short_window == b.window - 1
    local spare = free - math.max(0, kept_for_others(left_ms, is_short) - floor)
    if spare <= 0 then
      local wait = until_fewer_kept(free + floor, left_ms, is_short)
      -- The calls of a last window may seem too many, and are not: a response is reported before its row is written,
      -- and other processes hear of that half a second later.
      if backlog >= 0 and is_short and backlog - in_flight - free <= LAG then
        wait = math.min(wait, is_quiet() and LAG_MS or RECHECK_MS)
      end
      return 0, wait
    end
    open = math.min(open, spare)
  end
  if open > 0 and now - b.left_at > (b.others > 0 and STALE_BESIDE_OTHERS_MS or STALE_MS) then
    -- Others may have spent the rest since the last response: one call is sent alone as a probe.
    if in_flight == 0 then
      b.lone_at = now
      return 1, 0
    end
    if in_flight == 1 and b.lone_at and now - b.lone_at < LONE_CALL_MS then return 0, POLL_MS end
  end
  local alone = sent_alone(until_refresh)
  if open > alone then return math.min(want, open - alone), 0 end
  if open > 0 then
    local is_stuck = now - math.max(b.left_at, b.lone_at or 0) > LONE_CALL_MS
    if in_flight > 0 and not is_stuck then return 0, math.min(POLL_MS, until_refresh) end
    b.lone_at = now
    return 1, 0
  end
  return ask(ticks, crossing, until_refresh)
end

-- Permits beyond those wanted, for calls that follow within AHEAD_MS. A process that holds a few while many are left
-- starves no other; all are used or given back before the reset. Rows answered, but not yet written, count as wanted.
local function grants_ahead(granted)
  if ahead <= 0 or urgent or backlog < 0 or b.blocked or not b.limit or not b.left then return 0 end
  local earliest = refresh_bounds(b)
  local stale = b.others > 0 and STALE_BESIDE_OTHERS_MS or STALE_MS
  if not earliest or earliest - now < AHEAD_MS or now - b.left_at > stale then return 0 end
  local held = in_flight + granted
  local free = b.left - held - b.lost - company_margin() - sent_alone(earliest - now)
  local kept = math.max(0, math.ceil(b.limit * share) - b.others)
  if yields then kept = math.max(kept, kept_for_others(earliest - now, backlog - held > free - kept)) end
  return math.max(0, math.min(ahead, math.floor(math.min(free - kept, backlog - held) / AHEAD_PART)))
end
