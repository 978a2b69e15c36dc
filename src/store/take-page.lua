-- Takes one page of a listing into the inventory and saves where the sync goes on, in one step.
--
-- KEYS  1 … 7 the inventory (take.lua)   8 the sync (hash)
-- ARGV  1 profile   2 most events kept   3 sync id   4 pages taken before this one   5 key of the next page, '' on the last
--       6 Redis's time when the page had not yet been asked for, ms   7 fields that were not kept before, commas between
--       8 … one text a SIM: `key digest`, and where the record is told of, ` signature` and a line for each field
-- Returns Redis's time in ms, or 'stale' when the sync is no longer at this page: nothing is done then;
--       or a list of the SIMs, counted from 0, whose records have to be told of: nothing is done then either
-- Atomic: everything. A page is taken once; a process that comes late finds the sync elsewhere.
-- A SIM that a run changed after the page was asked for is left alone: the page may be older than the change.

local inv = inventory(KEYS, ARGV[1], ARGV[2])
local sync = redis.call('HMGET', KEYS[8], 'syncId', 'phase', 'pages')
if sync[1] ~= ARGV[3] or sync[2] ~= 'listing' or sync[3] ~= ARGV[4] then return 'stale' end
local as_of = tonumber(ARGV[6])
local quiet = {}
for name in string.gmatch(ARGV[7], '[^,]+') do quiet[name] = true end
local count = { sims = 0, added = 0, changed = 0, returned = 0 }

-- A class that a row of a run was just giving the SIM is the run's doing, also when the listing saw it first.
local function by_of_claim(sim)
  return function(field, after)
    if field == 'speedClass' and after then
      local run, class = string.match(redis.call('HGET', inv.claims, sim) or '', '^(%S+) (%S+)$')
      if class and after == '=' .. class then return 'run', run end
    end
    return 'outside', ARGV[3]
  end
end

local function take(sim, seen)
  local text = redis.call('HGET', inv.sims, sim) -- once more: a page may name a SIM twice
  if not text then
    if not inv.is_new[sim] then count.added = count.added + 1 end
    return add_sim(inv, sim, seen, 'outside', ARGV[3])
  end
  local record = split_record(text)
  redis.call('SETBIT', inv.seen, record.ordinal, 1)
  if record.by == 'run' and tonumber(record.updated) >= as_of then return end
  if record.digest == seen.digest and record.gone == '-' then return end
  if welcome_back(inv, sim, record, 'outside', ARGV[3]) then count.returned = count.returned + 1 end
  if record.lines ~= seen.lines then
    local before, after = fields_of(record.lines), fields_of(seen.lines)
    if record.digest == '?' then
      for name, value in pairs(after) do before[name] = before[name] or value end
    end
    local told = tell_changes(inv, sim, before, after, quiet, by_of_claim(sim))
    if told > 0 then count.changed = count.changed + 1 end
    record.lines = seen.lines
    record.updated = inv.now
    record.by = 'sync'
  end
  sign(inv, record.ordinal, seen.signature)
  record.digest = seen.digest
  redis.call('HSET', inv.sims, sim, join_record(record))
end

-- The ordinal of a record that has this digest and is not gone; nil of any other.
local function ordinal_if_same(text, digest)
  local space = string.find(text, ' ', 1, true)
  if string.sub(text, space + 1, space + #digest) ~= digest then return nil end
  local line_end = string.find(text, '\n', space, true)
  if string.sub(text, line_end - 2, line_end - 1) ~= ' -' then return nil end
  return string.sub(text, 1, space - 1)
end

-- A SIM that is as it was known is only marked as seen, so that nobody has to work out what its record says. (No patterns
-- here: they cost more than all the rest.)
local listed, untold = {}, {}
for at = 8, #ARGV do
  local one = ARGV[at]
  local first = string.find(one, ' ', 1, true)
  local second = string.find(one, ' ', first + 1, true)
  local sim, digest = string.sub(one, 1, first - 1), string.sub(one, first + 1, second and second - 1)
  local text = redis.call('HGET', inv.sims, sim)
  local same = text and ordinal_if_same(text, digest)
  if not second and not same then untold[#untold + 1] = at - 8 end
  listed[#listed + 1] = same or { sim = sim, digest = digest, one = one, second = second }
end
if #untold > 0 then return untold end

for _, one in ipairs(listed) do
  count.sims = count.sims + 1
  if type(one) == 'string' then
    redis.call('SETBIT', inv.seen, one, 1)
  else
    one.signature = string.sub(one.one, one.second + 1, one.second + SIGNATURE)
    one.lines = string.sub(one.one, one.second + SIGNATURE + 2)
    take(one.sim, one)
  end
end
write_new(inv)
for name, by in pairs(count) do
  if by > 0 then redis.call('HINCRBY', KEYS[8], name, by) end
end
redis.call('HINCRBY', KEYS[8], 'pages', 1)
if ARGV[5] == '' then
  redis.call('HSET', KEYS[8], 'phase', 'sweeping', 'chunk', 0)
  redis.call('HDEL', KEYS[8], 'cursor')
else
  redis.call('HSET', KEYS[8], 'cursor', ARGV[5])
end
return inv.now
