-- Part of the limiter's simulation: a world in which time passes from event to event, and chance comes from a seed.

local BEGIN_MS = 1790000000000   -- a whole second, far from any edge

local World = {}
World.__index = World

local function new_world(seed)
  local world = setmetatable({ now = BEGIN_MS, size = 0, order = 0, state = seed * 7919 % 2147483646 + 1 }, World)
  for _ = 1, 3 do world:random() end
  return world
end

-- A number in [0, 1).
function World:random()
  self.state = self.state * 16807 % 2147483647
  return (self.state - 1) / 2147483646
end

function World:between(low, high) return low + (high - low) * self:random() end

-- A whole number from `low` to `high`.
function World:pick(low, high) return low + math.floor(self:random() * (high - low + 1)) end

function World:chance(share) return self:random() < share end

local function is_before(a, b) return a.at < b.at or (a.at == b.at and a.order < b.order) end

-- Runs `act` with `delay` ms.
function World:after(delay, act)
  self.order, self.size = self.order + 1, self.size + 1
  local event, place = { at = self.now + math.max(0, delay), order = self.order, act = act }, self.size
  while place > 1 do
    local up = math.floor(place / 2)
    if not is_before(event, self[up]) then break end
    self[place], place = self[up], up
  end
  self[place] = event
end

function World:next_event()
  local first, last, place = self[1], self[self.size], 1
  self[self.size], self.size = nil, self.size - 1
  while self.size > 0 do
    local down = 2 * place
    if down > self.size then break end
    if down < self.size and is_before(self[down + 1], self[down]) then down = down + 1 end
    if not is_before(self[down], last) then break end
    self[place], place = self[down], down
  end
  if self.size > 0 then self[place] = last end
  return first
end

function World:run_until(ends)
  while self.size > 0 and self[1].at <= ends do
    local event = self:next_event()
    self.now = event.at
    event.act()
  end
  self.now = ends
end
