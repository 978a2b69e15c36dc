-- Stores one slice of a page of a listing in the inventory; the last slice also saves the position of the sync. Slices
-- are short, so that no page blocks Redis for its other clients for long.
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 sync id   4 pages stored before this one
--       5 cursor of the next page, '' on the last   6 Redis's time before the page was requested, ms
--       7 fields that were not stored before, separated by commas
--       8 id of this attempt to store the page   9 slice: 'first', 'next', 'last' or 'only'   10 SIMs of the whole page
--       11 ordinals of the SIMs that are as stored, separated by blanks
--       12 the other SIMs: for each its key, a line for every field, then a carriage return
-- Returns Redis's time in ms; or 'stale' if the sync is no longer at this page (nothing is changed)
-- Atomic: everything. A page is stored once; a late process finds that the sync has moved on, and a process whose page
-- another process has started to store finds out with its next slice. After a crash between two slices the page is
-- stored again from its first slice: SIMs stored before are then unchanged, and are counted by the last slice. An
-- unchanged SIM is only marked as seen. It cannot go between the comparison and this script, since only the sweep of
-- this sync removes it from the list. A SIM that a run changed after the page was requested is left unchanged: the page
-- may be older than the change.

local inv = inventory(KEYS, ARGV[1], ARGV[2])
local sync_id, pages_before, next_key, as_of = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local attempt, slice, page_length = ARGV[8], ARGV[9], tonumber(ARGV[10])
local is_last = slice == 'last' or slice == 'only'
local sync = redis.call('HMGET', KEYS[9], 'syncId', 'phase', 'pages', 'taking')
if sync[1] ~= sync_id or sync[2] ~= 'listing' or sync[3] ~= pages_before then return 'stale' end
if (slice == 'next' or slice == 'last') and sync[4] ~= attempt then return 'stale' end
local quiet = {}
for name in string.gmatch(ARGV[7], '[^,]+') do quiet[name] = true end
local count = { sims = is_last and page_length or 0, added = 0, changed = 0, returned = 0 }

local function take(sim, text, lines)
  local record = split_record(text)
  put_bit(inv.seen, record.ordinal, '1')
  if record.by ~= 'sync' and tonumber(record.updated) >= as_of then return end
  if welcome_back(inv, sim, record, 'external', sync_id) then count.returned = count.returned + 1 end
  local is_incomplete = record.by == 'answer'
  if is_incomplete then record.by = 'run' end
  if record.lines ~= lines then
    local stored, before, after = fields_of(record.lines), fields_of(record.lines), fields_of(lines)
    if is_incomplete then
      for name, value in pairs(after) do before[name] = before[name] or value end
    end
    local emitted = emit_changes(inv, sim, before, after, quiet, by_of_lock(inv, sim, sync_id))
    if emitted > 0 then count.changed = count.changed + 1 end
    index_fields(inv.index, record.ordinal, stored, after)
    record.lines, record.updated, record.by = lines, inv.now, 'sync'
  end
  redis.call('HSET', inv.sims, sim, join_record(record))
end

for ordinal in string.gmatch(ARGV[11], '%d+') do put_bit(inv.seen, ordinal, '1') end
for sim, lines in string.gmatch(ARGV[12], '([^\n\r]+)\n([^\r]*)\r') do
  local text = record_of(inv, sim)
  if text then
    take(sim, text, lines)
  else
    add_sim(inv, sim, lines, 'sync', sync_id)
    count.added = count.added + 1
  end
end
write_gathered(inv)
for name, by in pairs(count) do
  if by > 0 then redis.call('HINCRBY', KEYS[9], name, by) end
end
if not is_last then
  redis.call('HSET', KEYS[9], 'taking', attempt)
  return inv.now
end
redis.call('HDEL', KEYS[9], 'taking')
redis.call('HINCRBY', KEYS[9], 'pages', 1)
clear_problem(KEYS[9])
if next_key == '' then
  redis.call('HSET', KEYS[9], 'phase', 'sweeping', 'chunk', 0)
  redis.call('HDEL', KEYS[9], 'cursor')
else
  redis.call('HSET', KEYS[9], 'cursor', next_key)
end
return inv.now
