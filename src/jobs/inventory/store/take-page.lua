-- Stores one slice of a page of a listing in the inventory; the last slice also saves the position of the sync. Slices are
-- short, so that no page blocks Redis for its other clients for long.
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 sync id   4 pages stored before this one
--       5 cursor of the next page, '' on the last   6 Redis's time before the page was requested, ms
--       7 fields that were not stored before, separated by commas
--       8 keys of the page's SIMs, one per line   9 their digests, concatenated
--       10 places of the SIMs whose records are sent, counted from 0, separated by commas; '*' for all
--       11 their signatures, concatenated   12 their records: a line for every field, then a carriage return
--          (few arguments, since long argument lists are expensive for both sides)
--       13 id of this attempt to store the page   14 slice: 'first', 'next', 'last' or 'only'   15 SIMs of the whole page
-- Returns Redis's time in ms; or 'stale' if the sync is no longer at this page (nothing is changed);
--       or a list of the places of SIMs whose records must be sent too (nothing is changed)
-- Atomic: everything. A page is stored once; a late process finds that the sync has moved on, and a process whose page
-- another process has started to store finds out with its next slice. After a crash between two slices the page is stored
-- again from its first slice: SIMs stored before are then unchanged, and are counted by the last slice.
-- An unchanged SIM is only marked as seen, so its record need not be encoded or compared.
-- A SIM that a run changed after the page was requested is left unchanged: the page may be older than the change.

local inv = inventory(KEYS, ARGV[1], ARGV[2])
local sync_id, pages_before, next_key, as_of = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local taking, slice, page_length = ARGV[13], ARGV[14], tonumber(ARGV[15])
local is_last = slice == 'last' or slice == 'only'
local sync = redis.call('HMGET', KEYS[9], 'syncId', 'phase', 'pages', 'taking')
if sync[1] ~= sync_id or sync[2] ~= 'listing' or sync[3] ~= pages_before then return 'stale' end
if (slice == 'next' or slice == 'last') and sync[4] ~= taking then return 'stale' end
local quiet = {}
for name in string.gmatch(ARGV[7], '[^,]+') do quiet[name] = true end
local page_keys, page_digests, sent_places = ARGV[8], ARGV[9], ARGV[10]
local signatures, lines = ARGV[11], ARGV[12]
local length = #page_digests / DIGEST
local count = { sims = is_last and page_length or 0, added = 0, changed = 0, returned = 0 }

local function take(sim, seen)
  local text = redis.call('HGET', inv.sims, sim)
  if not text then return end -- the page names a SIM twice that is about to be written
  local record = split_record(text)
  local digest = digest_of(inv, record.ordinal)
  if record.by == 'run' and tonumber(record.updated) >= as_of then return end
  if digest == seen.digest then return end
  if welcome_back(inv, sim, record, 'outside', sync_id) then count.returned = count.returned + 1 end
  if record.lines ~= seen.lines then
    local before, after = fields_of(record.lines), fields_of(seen.lines)
    if digest == UNLISTED then
      for name, value in pairs(after) do before[name] = before[name] or value end
    end
    local emitted = emit_changes(inv, sim, before, after, quiet, by_of_claim(inv, sim, sync_id))
    if emitted > 0 then count.changed = count.changed + 1 end
    record.lines = seen.lines
    record.updated = inv.now
    record.by = 'sync'
  end
  sign(inv, record.ordinal, seen.signature)
  set_digest(inv, record.ordinal, seen.digest)
  redis.call('HSET', inv.sims, sim, join_record(record))
end

local function digest_at(text, place) return string.sub(text, place * DIGEST + 1, (place + 1) * DIGEST) end

-- The page's SIMs with consecutive ordinals, as runs; those that are not known, as a set of places.
local runs, is_missing, keys = {}, {}, nil

local function split_keys()
  if keys then return end
  keys = {}
  for key in string.gmatch(page_keys, '[^\n]+') do keys[#keys + 1] = key end
end

-- A listing usually has the same order as the previous one: the page is then a contiguous part of the key order, and no
-- record has to be read.
local function find_in_roll()
  local first = string.match(page_keys, '^[^\n]+')
  local record = first and redis.call('HGET', inv.sims, first)
  if not record then return false end
  local ordinal = tonumber(string.match(record, '^%d+'))
  local rolls = {}
  each_chunk(ordinal, length, function(chunk) rolls[#rolls + 1] = redis.call('GET', inv.roll .. chunk) or '' end)
  local roll, wanted = table.concat(rolls), page_keys .. '\n'
  local guess = (ordinal % SIMS_PER_CHUNK) * (#first + 1) + 1 -- where keys are of one length
  local at = string.find(roll, wanted, guess, true) or string.find(roll, wanted, 1, true)
  if not at or (at > 1 and string.sub(roll, at - 1, at - 1) ~= '\n') then return false end
  runs[1] = { place = 0, ordinal = ordinal, count = length }
  return true
end

local function look_up_each()
  split_keys()
  local run
  for from = 1, length, 1000 do
    local to = math.min(from + 999, length)
    for i, record in ipairs(redis.call('HMGET', inv.sims, unpack(keys, from, to))) do
      local place = from + i - 2
      local ordinal = record and tonumber(string.match(record, '^%d+'))
      if not ordinal then
        is_missing[place] = true
        run = nil
      elseif run and ordinal == run.ordinal + run.count then
        run.count = run.count + 1
      else
        run = { place = place, ordinal = ordinal, count = 1 }
        runs[#runs + 1] = run
      end
    end
  end
end

if not find_in_roll() then look_up_each() end

-- Places to be stored: SIMs that are new or have changed.
local is_open, has_open = {}, false
for place in pairs(is_missing) do is_open[place] = true has_open = true end
for _, run in ipairs(runs) do
  local known = read_slots(inv.digests, DIGEST, run.ordinal, run.count)
  local listed = string.sub(page_digests, run.place * DIGEST + 1, (run.place + run.count) * DIGEST)
  if known ~= listed then
    for i = 0, run.count - 1 do
      if digest_at(known, i) ~= digest_at(listed, i) then is_open[run.place + i] = true has_open = true end
    end
  end
end

-- For the SIMs whose records were sent: the index of each place among them, and the start and end of its lines.
local nth_of, from, to = {}, {}, {}
if has_open then
  local place_of
  if sent_places ~= '*' then
    place_of = {}
    for place in string.gmatch(sent_places, '%d+') do place_of[#place_of + 1] = tonumber(place) end
  end
  local at, nth = 1, 0
  while at <= #lines do
    local place = place_of and place_of[nth + 1] or nth
    local ends = string.find(lines, '\r', at, true)
    nth_of[place], from[place], to[place] = nth, at, ends - 1
    at, nth = ends + 1, nth + 1
  end
  local unsent = {}
  for place = 0, length - 1 do
    if is_open[place] and not nth_of[place] then unsent[#unsent + 1] = place end
  end
  if #unsent > 0 then return unsent end
end

-- Adds consecutive new SIMs, starting at a place. Returns the place after them.
local function add_from(first)
  local room, place, nth = room_for_new(inv), first, nth_of[first]
  repeat
    add_lines(inv, keys[place + 1], string.sub(lines, from[place], to[place]), 'outside', sync_id)
    place = place + 1
  until place - first == room or not is_missing[place] or inv.is_new[keys[place + 1]] or nth_of[place] ~= nth + place - first
  add_slots(inv, string.sub(signatures, nth * SIGNATURE + 1, (nth + place - first) * SIGNATURE),
    string.sub(page_digests, first * DIGEST + 1, place * DIGEST))
  count.added = count.added + place - first
  return place
end

for _, run in ipairs(runs) do mark_seen(inv, run.ordinal, run.count) end
if has_open then
  split_keys()
  local place = 0
  while place < length do
    if is_missing[place] and not inv.is_new[keys[place + 1]] then
      place = add_from(place)
    else
      if is_open[place] then
        local nth = nth_of[place]
        take(keys[place + 1], { digest = digest_at(page_digests, place), lines = string.sub(lines, from[place], to[place]),
          signature = string.sub(signatures, nth * SIGNATURE + 1, (nth + 1) * SIGNATURE) })
      end
      place = place + 1
    end
  end
  write_new(inv)
end
for name, by in pairs(count) do
  if by > 0 then redis.call('HINCRBY', KEYS[9], name, by) end
end
if not is_last then
  redis.call('HSET', KEYS[9], 'taking', taking)
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
