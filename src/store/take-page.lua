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
    add_sim(inv, sim, seen, 'outside', ARGV[3])
    count.added = count.added + 1
    return
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

-- A SIM that is as it was known is only marked as seen, so that nobody has to work out what its record says.
local listed, untold = {}, {}
for at = 8, #ARGV do
  local sim, digest, rest = string.match(ARGV[at], '^(%S+) (%S+)(.*)$')
  local text = redis.call('HGET', inv.sims, sim)
  local same = text and string.match(text, '^(%d+) ' .. string.gsub(digest, '%-', '%%-') .. ' %S+ %d+ %d+ %-\n')
  if rest == '' and not same then untold[#untold + 1] = at - 8 end
  listed[#listed + 1] = { sim, digest, rest, same }
end
if #untold > 0 then return untold end

for _, one in ipairs(listed) do
  local sim, digest, rest, same = unpack(one, 1, 4)
  count.sims = count.sims + 1
  if same then
    redis.call('SETBIT', inv.seen, same, 1)
  else
    local signature, lines = string.match(rest, '^ (%S+)\n(.*)$')
    take(sim, { digest = digest, signature = signature, lines = lines })
  end
end
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
