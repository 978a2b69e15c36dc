-- Estimates the time R at which a window ends, by intersecting the intervals given by its responses.
--
-- A response with `s` seconds before refresh, created by the platform at some time between `sent` and `received`, was
-- rounded in one of three ways that the interface does not specify: up (R - t is in (s-1, s]), to the nearest, or down
-- ([s, s+1)). All three share two bounds, floor = max(sent + s) and ceiling = min(received + s), from which each way
-- has its own interval for R at fixed offsets. `after` and `before` bound R itself: a response of this window was
-- created before R, and one of the next window after it. A way with an empty interval is ruled out permanently.
--
-- All times are milliseconds of Redis's clock. Pure functions over the table `e`, no keys are touched.

local SLACK = 2            -- what the platform's own millisecond arithmetic may be off
local DRIFT = 0.0001       -- how far two clocks part, per millisecond
local WAYS = {
  { letter = 'u', from = -1000, to = 0 },
  { letter = 'n', from = -500, to = 500 },
  { letter = 'd', from = 0, to = 1000 },
}

local function interval_of(e, way)
  local lo, hi = e.floor + way.from, e.ceiling + way.to
  if e.after and e.after > lo then lo = e.after end
  if e.before and e.before < hi then hi = e.before end
  return lo, hi
end

-- The earliest and the latest possible R; nil before the first response. The third value is the latest R under the
-- earliest way that is still possible: after it, a call distinguishes that way from the others.
local function refresh_bounds(e)
  if not e.floor then return nil end
  local earliest, latest, first_hi
  for _, way in ipairs(WAYS) do
    if string.find(e.ways, way.letter, 1, true) then
      local lo, hi = interval_of(e, way)
      if not earliest or lo < earliest then earliest = lo end
      if not latest or hi > latest then latest = hi end
      if not first_hi then first_hi = hi end
    end
  end
  return earliest, latest, first_hi
end

-- Drops impossible ways of rounding; returns false if none would be left, and then leaves `e` unchanged.
local function rule_out(e)
  local left = ''
  for _, way in ipairs(WAYS) do
    if string.find(e.ways, way.letter, 1, true) then
      local lo, hi = interval_of(e, way)
      if lo <= hi + SLACK then left = left .. way.letter end
    end
  end
  if left == '' then return false end
  e.ways = left
  return true
end

-- Restarts the estimate from one response.
local function adopt(e, answer, period)
  e.floor = answer.sent + answer.seconds * 1000 - SLACK
  e.ceiling = answer.received + answer.seconds * 1000 + SLACK
  e.after = answer.sent - SLACK
  e.before = answer.received + period + SLACK
  if not rule_out(e) then e.ways = 'und'; rule_out(e) end
end

-- Adds a response of the window that ends at R. Returns false, with `e` unchanged, if it contradicts those before it.
local function tighten(e, answer, period)
  local old = { e.floor, e.ceiling, e.after, e.before }
  e.floor = math.max(e.floor, answer.sent + answer.seconds * 1000 - SLACK)
  e.ceiling = math.min(e.ceiling, answer.received + answer.seconds * 1000 + SLACK)
  e.after = math.max(e.after or 0, answer.sent - SLACK)
  e.before = math.min(e.before or math.huge, answer.received + period + SLACK)
  if rule_out(e) then return true end
  e.floor, e.ceiling, e.after, e.before = old[1], old[2], old[3], old[4]
  return false
end

-- Shifts the estimate by whole periods; it widens with the distance, until it is useless.
local function shift(e, by)
  local drift = by * DRIFT
  e.floor, e.ceiling = e.floor + by - drift, e.ceiling + by + drift
  if e.after then e.after = e.after + by - drift end
  if e.before then e.before = e.before + by + drift end
  if e.ceiling - e.floor > 1500 then e.floor, e.ceiling, e.after, e.before = nil, nil, nil, nil end
end
