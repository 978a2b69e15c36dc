-- Part of the limiter's simulation: one schedule is a random platform, processes, a network and incidents; then what
-- has to be true of it. It returns functions that run schedules by their seeds.

-- Everything that happens in one schedule.
local Run = {}
Run.__index = Run

-- The longest wait of a priority call whose window has room for it: two calls that ask alone, one after the other.
local PRIORITY_WAIT_MS = 1500

-- Nearly all schedules have one process or two with few calls in a short window, so that a million of them can be run.
local function random_options(world, seed)
  local options = {
    kind = 'alone',
    period = world:chance(0.01) and 10000 or 3000,
    windows = world:between(0.9, 1.2),
    limit = world:pick(2, 5),
    phase = world:between(0.4, 1),
    rounding = ({ 'up', 'down', 'nearest' })[world:pick(1, 3)],
    drift = world:between(-50, 50) / 1000000,
    processes = world:chance(0.04) and 3 or world:chance(0.4) and 2 or 1,
    callers = world:chance(0.3) and 2 or 1,
    pause = world:chance(0.75) and world:between(200, 1500) or 0,
    priority_callers = 0,
    priority_pause = 6000,
    leg = ({ 10, 20, 100 })[world:pick(1, 3)],
    redis = ({ 0.2, 1, 5 })[world:pick(1, 3)],
    slow = ({ 0, 0, 0.2 })[world:pick(1, 3)],
    lost = ({ 0, 0.1, 0.3 })[world:pick(1, 3)],
    give_back = ({ 0, 0.2 })[world:pick(1, 2)],
    reserve = seed % 8 == 4 and 'auto' or 0,
    knows_demand = world:chance(0.5),
    crashes = world:pick(0, 2),
  }
  return options
end

-- Other callers at a steady rate, or priority calls with a reserve: in longer windows, and without incidents.
local function calm_options(world, seed, kind)
  local options = random_options(world, seed)
  options.kind, options.period, options.leg = kind, 10000, 40
  options.windows, options.phase = world:between(1.1, 2.2), world:random()
  options.pause, options.callers = 0, world:pick(1, 3)
  options.slow, options.lost, options.give_back, options.crashes = 0, 0, 0, 0
  if kind == 'steady' then
    options.limit, options.other_every = world:pick(12, 24), world:between(700, 3000)
  else
    options.limit, options.processes, options.priority_callers = world:pick(10, 14), world:pick(1, 2), 1
    options.reserve = 0.4
  end
  return options
end

-- Longer windows, in which the leases of processes that died end.
local function long_options(world, seed)
  local options = random_options(world, seed)
  options.period, options.windows, options.phase, options.pause = 10000, 2.3, world:random(), 0
  options.limit, options.callers, options.crashes = world:pick(3, 9), world:pick(1, 3), 2
  options.slow, options.lost = 0.5, 0
  return options
end

-- Larger limits, of which permits are taken ahead.
local function ahead_options(world, seed)
  local options = random_options(world, seed)
  options.limit, options.callers, options.knows_demand = world:pick(50, 200), world:pick(3, 10), true
  return options
end

local function options_of(world, seed)
  if seed % 40 == 2 then return long_options(world, seed) end
  if seed % 100 == 7 then return ahead_options(world, seed) end
  if seed % 500 == 0 then return calm_options(world, seed, 'steady') end
  if seed % 500 == 1 then return calm_options(world, seed, 'priority') end
  return random_options(world, seed)
end

function Run:fail(text, ...)
  if #self.failures < 5 then self.failures[#self.failures + 1] = string.format(text, ...) end
end

function Run:at() return (self.world.now - BEGIN_MS) / 1000 end

-- One run of the real bucket.lua.
function Run:exchange(args, seen)
  for _, one in ipairs(seen) do
    if one.kind == 'throttled' then one.answer.window.is_refusal_heard = true end
  end
  store.at(self.world.now)
  local reply = bucket(KEYS_OF_BUCKET, args)
  self.exchanges, self.granted = self.exchanges + 1, self.granted + reply[4] + reply[15]
  local window = self.platform:window_at(self.world.now)
  if reply[4] + reply[15] > 0 and window.is_refusal_heard then
    self:fail('at %.3f s: %d permits after a 429 of that window was heard', self:at(), reply[4] + reply[15])
  end
  if reply[10] ~= '' then
    local low, high = tonumber(reply[10]) - 0.01, tonumber(reply[11]) + 0.01
    local is_this, is_former = low <= window.ends and window.ends <= high, low <= window.begins and window.begins <= high
    if not is_this and not is_former then
      self:fail('at %.3f s: the refresh of %.3f s is not in %.3f to %.3f s', self:at(), (window.ends - BEGIN_MS) / 1000,
        (low - BEGIN_MS) / 1000, (high - BEGIN_MS) / 1000)
    end
  end
  return reply
end

-- A call whose permit was given before any response had shown the limit may be one too many.
function Run:receive(permit)
  self.calls = self.calls + 1
  local answer = self.platform:receive(self.world.now)
  if answer.is_refused and permit.knows_limit then answer.window.refused = answer.window.refused + 1 end
  if not answer.is_refused then answer.window.ours, self.done = answer.window.ours + 1, self.done + 1 end
  return answer
end

function Run:waited(urgency, ms)
  if urgency == 'priority' then self.longest = math.max(self.longest, ms) end
end

-- How many calls are still wanted, as a run says it.
function Run:demand()
  local rows = self.options.rows
  return rows and string.format('%.0f', math.max(0, rows - self.done)) or '1000'
end

function Run:start_others()
  local every = self.options.other_every
  if not every then return end
  local function next_call()
    self.world:after(every * self.world:between(0.95, 1.05), function()
      if self.is_over then return end
      self.platform:receive(self.world.now)
      next_call()
    end)
  end
  next_call()
end

function Run:plan_crashes()
  local options = self.options
  for _ = 1, options.crashes do
    self.world:after(self.world:between(0, options.windows * options.period), function()
      self.processes[self.world:pick(1, #self.processes)]:crash()
      self.world:after(self.world:between(0, 5000), function()
        self.born = self.born + 1
        start_process(self, 'p' .. string.format('%.0f', self.born))
      end)
    end)
  end
end

-- All callers stop; what is in flight ends; the leases of dead processes end; one exchange in a later window sees
-- nothing left.
function Run:rest()
  self.is_over = true
  self.world:run_until(self.world.now + 8000)
  self.world:run_until(self.world.now + LEASE_MS + 2 * self.options.period)
  -- What is still waited for is a crash's own.
  local observer = { 'b', string.format('%.0f', self.options.period), '0', string.format('%.0f', LEASE_MS), 'observer', '0',
    '1', 'normal', '-1', '0', '0' }
  store.at(self.world.now)
  local reply = bucket(KEYS_OF_BUCKET, observer)
  local in_hash = store.call('HLEN', 'permits')
  local ends = store.call('HGETALL', 'permits')
  for i = 2, #ends, 2 do
    if tonumber(ends[i]) > self.world.now then self:fail('a permit of %s has a lease that has not ended', ends[i - 1]) end
  end
  if self.crashes == 0 and in_hash > 0 then self:fail('%d permits are left, and no process died', in_hash) end
  if reply[8] > 0 and reply[11] ~= '' then self:fail('%d calls count as in flight after every lease ended', reply[8]) end
  local unused = self.granted - self.ended
  if self.crashes == 0 and unused ~= 0 then self:fail('%d permits were neither used nor given back', unused) end
end

function Run:check()
  local kind, windows = self.options.kind, self.platform.windows
  for i, window in ipairs(windows) do
    -- A counted call without a response may be unknown to the limiter, and so may one call of a steady competitor.
    local max_refused = kind == 'steady' and 1 or window.unheard
    if window.refused > max_refused then self:fail('window %d of %s met %d answers of 429', i, kind, window.refused) end
  end
  -- The priority calls of a window fit into the reserve: each waits for one call that asks alone, at most.
  if kind == 'priority' and self.longest > PRIORITY_WAIT_MS then
    self:fail('a priority call waited for %.0f ms', self.longest)
  end
end

local function prepare(seed, changed)
  for _, key in ipairs(KEYS_OF_BUCKET) do store.delete(key) end
  local world = new_world(seed)
  local options = options_of(world, seed)
  for name, value in pairs(changed or {}) do options[name] = value end
  local run = setmetatable({ world = world, options = options, platform = new_platform(options), processes = {}, failures = {},
    exchanges = 0, granted = 0, calls = 0, done = 0, ended = 0, crashes = 0, longest = 0, born = options.processes }, Run)
  for i = 1, options.processes do start_process(run, 'p' .. string.format('%.0f', i)) end
  run:plan_crashes()
  run:start_others()
  return run
end

local function simulate(seed, changed)
  local run = prepare(seed, changed)
  run.world:run_until(BEGIN_MS + run.options.windows * run.options.period)
  run:check()
  run:rest()
  return run
end
