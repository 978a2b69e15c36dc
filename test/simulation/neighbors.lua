-- Part of the limiter's simulation: bulk work that never ends next to others on the account. A rival calls the platform
-- itself, and is rejected once a window is spent; live callers have permits of this limiter, before bulk work.

-- Calls `act` at random times, on average `per_window` times a window, in bursts of `burst`.
local function at_random(run, per_window, burst, act)
  if per_window <= 0 then return end
  local mean = run.options.period * burst / per_window
  local function next_time()
    run.world:after(-mean * math.log(1 - run.world:random()), function()
      if run.is_over then return end
      for _ = 1, burst do act() end
      next_time()
    end)
  end
  next_time()
end

local function percentile(times, share)
  table.sort(times)
  return times[math.max(1, math.ceil(#times * share))] or 0
end

-- `rival` and `live`: shares of the limit; `burst`: calls of a rival at once; `grab`: the share that it takes at each
-- reset.
-- Returns the share of the rival's calls that were rejected, the share of the quota that was used, our own 429
-- responses, the median, 99 % and longest wait of live calls, ms, and the share of the quota that bulk work got.
local function beside_others(seed, limit, period, rival, burst, live, reserve, windows, grab)
  local run = prepare(seed, { kind = 'neighbors', limit = limit, period = period, reserve = reserve, windows = windows,
    phase = 0.5, rounding = 'up', drift = 0, processes = 2, callers = 8, pause = 0, priority_callers = 0, leg = 20,
    redis = 1, slow = 0, lost = 0, give_back = 0, knows_demand = true, crashes = 0, live = live > 0, keeps_one = live > 0 })
  local asked, refused, waits, bulk = 0, 0, {}, 0
  run.waited = function(_, urgency, ms)
    if urgency == 'priority' then waits[#waits + 1] = ms
    elseif run.platform:window_at(run.world.now) ~= run.platform.windows[1] then bulk = bulk + 1 end
  end
  at_random(run, rival * limit, burst, function()
    asked = asked + 1
    if run.platform:receive(run.world.now).is_refused then refused = refused + 1 end
  end)
  local function take_at_reset()
    run.world:after(run.platform:window_at(run.world.now).ends - run.world.now + 0.01, function()
      for _ = 1, grab * limit do run.platform:receive(run.world.now) end
      take_at_reset()
    end)
  end
  if grab > 0 then take_at_reset() end
  at_random(run, live * limit, 1, function() run.processes[1]:want('priority') end)
  run.world:run_until(BEGIN_MS + windows * period)
  local used, ours, all = 0, 0, run.platform.windows
  for i = 2, #all - 1 do used, ours = used + all[i].counted, ours + all[i].refused end
  run.is_over = true
  return string.format('%.4f %.4f %.0f %.0f %.0f %.0f %.4f', asked == 0 and 0 or refused / asked, used / (limit * (#all - 2)), ours,
    percentile(waits, 0.5), percentile(waits, 0.99), percentile(waits, 1), bulk / (limit * (#all - 1)))
end
