-- Part of the limiter's simulation: a quota of fixed windows, as model-platform.ts has it.

local Platform = {}
Platform.__index = Platform

local ROUND = {
  up = math.ceil,
  down = math.floor,
  nearest = function(seconds) return math.floor(seconds + 0.5) end,
}

-- options: period, limit, rounding, drift (parts), phase (how much of the first window is over)
local function new_platform(options)
  local platform = setmetatable({ windows = {}, limit = options.limit, stretch = 1 + options.drift }, Platform)
  platform.period, platform.rounding = options.period * platform.stretch, options.rounding
  platform:open(BEGIN_MS - options.phase * platform.period)
  return platform
end

function Platform:open(begins)
  local window = { begins = begins, ends = begins + self.period, counted = 0, ours = 0, refused = 0, unheard = 0 }
  self.windows[#self.windows + 1] = window
  return window
end

function Platform:window_at(now)
  local last = self.windows[#self.windows]
  while now >= last.ends do last = self:open(last.ends) end
  return last
end

function Platform:receive(now)
  local window = self:window_at(now)
  local is_refused = window.counted >= self.limit
  if not is_refused then window.counted = window.counted + 1 end
  local seconds = ROUND[self.rounding]((window.ends - now) / self.stretch / 1000)
  return { window = window, is_refused = is_refused, limit = self.limit, remaining = self.limit - window.counted,
    seconds = seconds }
end
