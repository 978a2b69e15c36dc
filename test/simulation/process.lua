-- Part of the limiter's simulation: a process with callers that always want one more call. It batches its exchanges and
-- takes permits ahead as permit-queue.ts does, and each exchange is one run of bucket.lua.

local PATIENCE_MS, IDLE_POLL_MS, MAX_AHEAD, AHEAD_MS = 2000, 10, 64, 200
local KEYS_OF_BUCKET = { 'bucket', 'permits', 'buckets', 'waiters', 'windows', 'rounding' }

local Process = {}
Process.__index = Process

local function start_process(run, id)
  local process = setmetatable({ run = run, world = run.world, id = id, waiters = {}, observations = {}, spare = {},
    number = 1, is_alive = true }, Process)
  for _ = 1, run.options.callers do process:want('normal') end
  for _ = 1, run.options.priority_callers do process:want('priority') end
  run.processes[#run.processes + 1] = process
  return process
end

-- In the process's life; a process that died does nothing more.
function Process:after(delay, act)
  self.world:after(delay, function() if self.is_alive then act() end end)
end

function Process:want(urgency)
  if self.run.is_over then return end
  local permit = urgency == 'normal' and table.remove(self.spare, 1)
  if permit then
    self.run:waited(urgency, 0)
    return self:call(permit, urgency)
  end
  self.waiters[#self.waiters + 1] = { urgency = urgency, since = self.world.now }
  if urgency == 'priority' then self:wake() end
  self:pump()
end

function Process:wake()
  if not self.sleep then return end
  self.sleep, self.is_busy = nil, false
end

-- Permits taken ahead that are unused since `since`.
function Process:give_back_spare(since)
  while self.spare[1] and self.spare[1].received <= since do
    self:report(table.remove(self.spare, 1), 'back', nil, 0)
  end
end

function Process:report(permit, kind, answer, sent_after)
  if kind == 'throttled' then self:give_back_spare(self.world.now) end
  self.observations[#self.observations + 1] =
    { permit = permit, kind = kind, answer = answer, sent_after = sent_after, received = self.world.now }
  self.run.ended = self.run.ended + 1
  self:wake()
  self:pump()
end

function Process:take_line()
  local urgency = 'normal'
  for _, waiter in ipairs(self.waiters) do
    if waiter.urgency == 'priority' and not self.live_wait then urgency = 'priority' end
  end
  local line, rest = {}, {}
  for _, waiter in ipairs(self.waiters) do
    local to = waiter.urgency == urgency and line or rest
    to[#to + 1] = waiter
  end
  return line, rest, urgency
end

local function text_of(seen, now)
  local permit, answer = seen.permit, seen.answer
  local quota = answer and string.format('%.0f,%.0f,%.0f', answer.limit, answer.remaining, answer.seconds) or ',,'
  return string.format('%.0f,%s,%.0f,%.0f,%s,%.3f,%.3f,%s,0', permit.number, seen.kind, permit.window, permit.serial,
    permit.granted_at, seen.sent_after, now - seen.received, quota)
end

function Process:pump()
  if self.is_busy or not self.is_alive or (#self.waiters == 0 and #self.observations == 0) then return end
  self.is_busy = true
  local run, options = self.run, self.run.options
  local line, rest, urgency = self:take_line()
  local first, seen = self.number, self.observations
  local ahead = urgency == 'normal' and math.max(0, math.min(MAX_AHEAD, 2 * #line) - #self.spare) or 0
  self.number, self.observations = first + #line + ahead, {}
  local args = { 'b', string.format('%.0f', options.period), tostring(options.reserve),
    string.format('%.0f', LEASE_MS), self.id, string.format('%.0f', #line), string.format('%.0f', first), urgency,
    options.knows_demand and #line > 0 and urgency == 'normal' and run:demand() or '-1', options.keeps_one and '1' or '0',
    string.format('%.0f', ahead) }
  for i = 1, #seen do args[11 + i] = text_of(seen[i], self.world.now) end
  self.world:after(self.world:between(0.02, options.redis), function()
    -- Redis runs it, whatever has become of the process.
    local reply = run:exchange(args, seen)
    self:after(self.world:between(0.02, options.redis), function() self:hand_out(reply, line, rest, first, urgency) end)
  end)
end

function Process:hand_out(reply, line, rest, first, urgency)
  local granted, wait = tonumber(reply[4]), tonumber(reply[5])
  -- Callers that came during the exchange.
  local known = #line + #rest
  local later = {}
  for i = known + 1, #self.waiters do later[#later + 1] = self.waiters[i] end
  self.waiters = {}
  local is_refused = granted < #line and wait > PATIENCE_MS
  for i = granted + 1, #line do
    if is_refused then
      local since = line[i].since
      self:after(math.max(1, wait - 1000), function() self:want_again(urgency, since) end)
    else
      self.waiters[#self.waiters + 1] = line[i]
    end
  end
  for _, others in ipairs({ rest, later }) do
    for _, waiter in ipairs(others) do self.waiters[#self.waiters + 1] = waiter end
  end
  if granted < #line then self:give_back_spare(self.world.now) end
  for i = 1, granted + reply[15] do
    local permit = { number = first + i - 1, window = reply[2], serial = reply[3] + i - 1, granted_at = reply[1],
      received = self.world.now, knows_limit = reply[6] ~= '' }
    if i > granted then
      self.spare[#self.spare + 1] = permit
    else
      self.run:waited(line[i].urgency, self.world.now - line[i].since)
      self:call(permit, line[i].urgency)
    end
  end
  if reply[15] > 0 then
    self:after(AHEAD_MS, function() self:give_back_spare(self.world.now - AHEAD_MS) end)
  end
  -- Bulk work has its turn, too, before the process sleeps.
  local live_wait = self.live_wait
  self.live_wait = urgency == 'priority' and granted < #line and not is_refused and #self.waiters > #line - granted and wait or nil
  local is_short = granted < #line and not is_refused
  if self.live_wait == nil and (is_short or live_wait) and #self.observations == 0 then
    return self:sleep_for(math.min(is_short and wait or math.huge, live_wait or math.huge))
  end
  self.is_busy = false
  self:pump()
end

function Process:want_again(urgency, since)
  if self.run.is_over then return end
  self.waiters[#self.waiters + 1] = { urgency = urgency, since = since }
  self:wake()
  self:pump()
end

function Process:sleep_for(wait)
  local sleep = {}
  self.sleep = sleep
  self:after((wait > 0 and wait or IDLE_POLL_MS) + self.world:between(0, 1.5), function()
    if self.sleep ~= sleep then return end
    self:wake()
    self:pump()
  end)
end

-- One call, from its permit to its end; then the caller wants the next one.
function Process:call(permit, urgency)
  local run, world, options = self.run, self.world, self.run.options
  local function ends(delay, kind, answer, sent_after)
    self:after(delay, function()
      self:report(permit, kind, answer, sent_after)
      if urgency == 'priority' and options.live then return end   -- a live call is made once
      local pause = urgency == 'priority' and options.priority_pause or options.pause * world:random()
      self:after(pause, function() self:want(urgency) end)
    end)
  end
  if run.is_over or world:chance(options.give_back) then return ends(world:between(0, 50), 'back', nil, 0) end
  local sent_after = world.now - permit.received
  local slow = world:chance(options.slow) and world:between(0, options.period / 4) or 0
  local request = world:between(1, options.leg) + slow * world:random()
  local is_request_lost = world:chance(options.lost / 2)
  local is_answer_lost = world:chance(options.lost / 2)
  if is_request_lost then return ends(request + 500, 'lost', nil, sent_after) end
  world:after(request, function()
    local answer = run:receive(permit)
    local back = world:between(1, options.leg) + slow * world:random()
    if is_answer_lost then
      answer.window.unheard = answer.window.unheard + 1
      return ends(back + 300, 'lost', nil, sent_after)
    end
    ends(back, answer.is_refused and 'throttled' or 'answered', answer, sent_after)
  end)
end

function Process:crash()
  if self.is_alive then self.is_alive, self.run.crashes = false, self.run.crashes + 1 end
end
