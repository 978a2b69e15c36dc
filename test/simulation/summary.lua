-- Part of the limiter's simulation: runs many schedules, and says what came of them in one line of numbers and one line
-- for each failure.

-- Seeds from `first` to `last`.
local function run_schedules(first, last)
  local sums, lines = { schedules = 0, exchanges = 0, calls = 0, refused = 0, failed = 0 }, {}
  for seed = first, last do
    local run = simulate(seed)
    sums.schedules, sums.exchanges, sums.calls = sums.schedules + 1, sums.exchanges + run.exchanges, sums.calls + run.calls
    for _, window in ipairs(run.platform.windows) do sums.refused = sums.refused + window.refused end
    if #run.failures > 0 then
      sums.failed = sums.failed + 1
      if sums.failed <= 20 then lines[#lines + 1] = string.format('seed %.0f: %s', seed, table.concat(run.failures, '; ')) end
    end
  end
  local text = string.format('%.0f %.0f %.0f %.0f %.0f', sums.schedules, sums.exchanges, sums.calls, sums.refused, sums.failed)
  return table.concat({ text, unpack(lines) }, '\n')
end

-- Many processes with one caller each, alone on one quota of 600 calls per minute; one in fifty of them dies.
local function run_fleet(seed, processes)
  local run = simulate(seed, { kind = 'alone', processes = processes, callers = 1, pause = 0, limit = 600, period = 60000, windows = 3.5,
    crashes = processes / 50, lost = 0, slow = 0, give_back = 0.02, leg = 60, redis = 5, reserve = 0, priority_callers = 0,
    other_every = false })
  local used = {}
  for i = 2, #run.platform.windows do used[#used + 1] = string.format('%.0f', run.platform.windows[i].ours) end
  return string.format('%.0f exchanges, %.0f calls, windows %s\n%s', run.exchanges, run.calls, table.concat(used, ' '),
    table.concat(run.failures, '; '))
end

return { schedules = run_schedules, fleet = run_fleet, neighbors = beside_others }
