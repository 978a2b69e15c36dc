-- One exchange with a bucket whose limit is known and not sent in headers: it processes reported observations, then grants
-- permits for calls. Where the API's windows begin is not known, so no interval of one period may hold more calls than the
-- limit: a call counts from its grant until one period after its response.
--
-- Calls that have ended are counted by slices of a hundredth of the period: a slice counts until it is over as a whole.
--
-- KEYS  1 slices (hash: slice -> calls; 'frozen' -> ms)   2 permits in flight (hash: id -> end of lease)
-- ARGV  1 limit   2 … those of bucket.lua; observations begin at 11
-- Returns what bucket.lua returns; the window is 0, and nothing is known of a refresh
-- Atomic: everything, as in bucket.lua.

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local limit, period, share, lease = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local process, want, first_id, urgent = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9] == 'priority'

local SLICE_MS = math.max(1, period / 100)
local POLL_MS = 250   -- when to check again for permits that were given back

local function slice_at(ms) return math.floor(ms / SLICE_MS) + 1 end

local slices, changed, counted, frozen = {}, {}, 0, 0

-- Reads the slices that still count. One that is too far ahead was written before the clock was set back: its calls count
-- as made now.
local function read_slices()
  local stored, gone, last = redis.call('HGETALL', KEYS[1]), {}, slice_at(now + period)
  for i = 1, #stored, 2 do
    local slice, value = tonumber(stored[i]), tonumber(stored[i + 1])
    if stored[i] == 'frozen' then
      frozen = math.min(value, now + 3600000)
    elseif slice * SLICE_MS <= now then
      gone[#gone + 1] = stored[i]
    else
      if slice > last then
        gone[#gone + 1] = stored[i]
        slice, changed[last] = last, true
      end
      slices[slice] = (slices[slice] or 0) + value
      counted = counted + value
    end
  end
  if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
end

-- A call ended at `ms`: it counts for one more period.
local function count(ms)
  local slice = slice_at(math.min(ms, now) + period)
  if slice * SLICE_MS <= now then return end
  slices[slice], changed[slice] = (slices[slice] or 0) + 1, true
  counted = counted + 1
end

-- A request repeated after a broken connection: its earlier grant is replaced, not added to.
local function take_back_own()
  for i = 0, want - 1 do redis.call('HDEL', KEYS[2], process .. ':' .. string.format('%d', first_id + i)) end
end

-- The call of a process that died may have been made until the lease ended.
local function end_leases()
  local all = redis.call('HGETALL', KEYS[2])
  for i = 1, #all, 2 do
    local ends = tonumber(all[i + 1])
    if ends <= now or ends > now + lease + 1000 then
      redis.call('HDEL', KEYS[2], all[i])
      count(ends)
    end
  end
end

local ELEVEN_VALUES = '^' .. string.rep('([^,]*),', 10) .. '([^,]*)$'

local function take_in(observation)
  local permit, kind, _, _, _, _, received_ago, _, _, _, retry = string.match(observation, ELEVEN_VALUES)
  local held = redis.call('HDEL', KEYS[2], process .. ':' .. permit)
  if kind == 'back' then return end
  -- Permit 0 stands for a call that was made before its bucket was known.
  if held == 1 or permit == '0' then count(now - tonumber(received_ago)) end
  if kind == 'throttled' then
    -- Others use the quota as well.
    frozen = math.max(frozen, now + (tonumber(retry) > 0 and tonumber(retry) or period))
  end
end

local function wait_for_more(in_flight)
  if frozen > now then return frozen - now end
  local first
  for slice in pairs(slices) do first = math.min(first or slice, slice) end
  local until_slice = first and first * SLICE_MS - now or period
  return in_flight > 0 and math.min(POLL_MS, until_slice) or until_slice
end

take_back_own()
read_slices()
for at = 11, #ARGV do take_in(ARGV[at]) end
end_leases()
local in_flight = redis.call('HLEN', KEYS[2])
local reserved = math.ceil(limit * share)
local free = limit - (urgent and 0 or reserved) - counted - in_flight
local granted = frozen > now and 0 or math.max(0, math.min(want, free))
local wait = granted < want and wait_for_more(in_flight) or 0
for i = 0, granted - 1 do
  redis.call('HSET', KEYS[2], process .. ':' .. string.format('%d', first_id + i), string.format('%.0f', now + lease))
end
for slice in pairs(changed) do
  redis.call('HSET', KEYS[1], string.format('%.0f', slice), string.format('%.0f', slices[slice]))
end
if frozen > now then redis.call('HSET', KEYS[1], 'frozen', string.format('%.3f', frozen)) end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, string.format('%.0f', 2 * (period + lease) + 3600000)) end

local function shown(number) return string.format('%.3f', number) end
return { shown(now), 0, 0, granted, shown(wait), shown(limit), shown(math.max(0, limit - counted - in_flight - granted)),
  in_flight + granted, shown(reserved), '', '', frozen > now and shown(frozen) or '' }
