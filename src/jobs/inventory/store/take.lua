-- Included in other scripts: stores what was seen of a SIM, and emits an event for each changed field.
--
-- inventory(keys, profile, max_events) returns the table that the functions below expect:
--   sims (hash: SIM -> record)   head (hash: next, known, gone, settled)   roll (prefix: chunk -> keys of its SIMs, one
--   per line)   index (index.lua)   listed, gone, seen (bitmaps: ordinals of the SIMs that are listed, that are gone,
--   and that the current listing has shown)   locks (hash: SIM -> run id, then a line for each field that it sets:
--   `name=value`, or `name` for none)   events (stream)
-- A record is `ordinal by addedAtMs updatedAtMs goneAtMs` and a line for each field (sim-record.ts).
-- `settled` in the head is set when the first sync has finished: before that no SIM counts as added.

local SIMS_PER_CHUNK = 4096 -- as in inventory.ts
local FORGOTTEN = '-' -- in the key order, the place of a SIM that was removed; ordinals are never reused
local NO_FIELDS = {}

local function now_ms()
  local time = redis.call('TIME')
  return time[1] .. string.format('%03d', math.floor(time[2] / 1000))
end

local function fields_of(lines)
  local fields = {}
  for name, value in string.gmatch(lines, '([^=:\n]+)([=:][^\n]*)') do fields[name] = value end
  return fields
end

-- Whether a set of field names contains this one, or the object that it is a member of.
local function covers(set, name)
  while name do
    if set[name] then return true end
    name = string.match(name, '^(.*)%.[^.]*$')
  end
  return false
end

local function split_record(record)
  local header, lines = string.match(record, '^([^\n]*)\n?(.*)$')
  local ordinal, by, added, updated, gone = string.match(header, '^(%d+) (%S+) (%d+) (%d+) (%S+)$')
  return { ordinal = ordinal, by = by, added = added, updated = updated, gone = gone, lines = lines }
end

local function join_record(r)
  return table.concat({ r.ordinal, r.by, r.added, r.updated, r.gone }, ' ') .. '\n' .. r.lines
end

local function emit_about(inv, kind, sim, by, cause, ...)
  emit(inv.events, inv.max_events, kind, inv.profile, 'sim', sim, 'by', by, 'cause', cause, ...)
end

-- Emits an event per changed field; returns how many. by_of(field, after) returns who changed it, and the run or sync.
local function emit_changes(inv, sim, before, after, quiet, by_of)
  local names = {}
  for name, value in pairs(after) do
    if before[name] ~= value then names[#names + 1] = name end
  end
  for name in pairs(before) do
    if after[name] == nil then names[#names + 1] = name end
  end
  table.sort(names)
  local emitted = 0
  for _, name in ipairs(names) do
    if not covers(quiet, name) then
      local by, cause = by_of(name, after[name])
      local pairs_of = { 'field', name }
      if before[name] then pairs_of[#pairs_of + 1] = 'before' pairs_of[#pairs_of + 1] = before[name] end
      if after[name] then pairs_of[#pairs_of + 1] = 'after' pairs_of[#pairs_of + 1] = after[name] end
      emit_about(inv, 'sim.changed', sim, by, cause, unpack(pairs_of))
      emitted = emitted + 1
    end
  end
  return emitted
end

-- A value that a run is just setting is attributed to the run, whatever shows it first: a listing, or the response to
-- the run's other row for the SIM. Anything else is an external change, as `cause` has found.
local function by_of_lock(inv, sim, cause)
  local run, set
  return function(field, after)
    if not run then
      local lock = redis.call('HGET', inv.locks, sim) or ''
      local lines
      run, lines = string.match(lock, '^([^\n]+)\n(.*)$')
      run = run or ''
      set = {}
      for name, value in string.gmatch(lines or '', '([^=:\n]+)([^\n]*)') do set[name] = value end
    end
    if run ~= '' and set[field] == (after or '') then return 'run', run end
    return 'external', cause
  end
end

-- Writes the new SIMs in a few commands, so that a script that ends with an error does not leave a part of one.
local function write_added(inv)
  if #inv.added == 0 then return end
  local chunk = math.floor((inv.next - 1) / SIMS_PER_CHUNK)
  redis.call('HSET', inv.head, 'next', string.format('%d', inv.next))
  redis.call('HINCRBY', inv.head, 'known', #inv.added)
  redis.call('APPEND', inv.roll .. chunk, table.concat(inv.added, '\n') .. '\n')
  redis.call('HSET', inv.sims, unpack(inv.records))
  inv.added, inv.records, inv.is_new = {}, {}, {}
end

local function record_of(inv, sim)
  if inv.is_new[sim] then write_added(inv) end
  return redis.call('HGET', inv.sims, sim)
end

local function add_sim(inv, sim, lines, by, cause)
  local place = inv.next
  local chunk = math.floor(place / SIMS_PER_CHUNK)
  if place % SIMS_PER_CHUNK == 0 and chunk > 0 then
    write_added(inv)
    -- Redis allocates twice the needed size for a growing string: write the previous chunk again at its size.
    redis.call('SET', inv.roll .. chunk - 1, redis.call('GET', inv.roll .. chunk - 1))
  end
  inv.next = place + 1
  local ordinal = string.format('%d', place)
  local record = { ordinal = ordinal, by = by, added = inv.now, updated = inv.now, gone = '-', lines = lines }
  inv.added[#inv.added + 1], inv.is_new[sim] = sim, true
  inv.records[#inv.records + 1], inv.records[#inv.records + 2] = sim, join_record(record)
  index_fields(inv.index, ordinal, {}, fields_of(lines))
  put_bit(inv.listed, ordinal, '1')
  put_bit(inv.seen, ordinal, '1')
  if inv.is_settled then emit_about(inv, 'sim.added', sim, by == 'sync' and 'external' or 'run', cause) end
end

local function welcome_back(inv, sim, record, by, cause)
  if record.gone == '-' then return false end
  record.gone = '-'
  put_bit(inv.listed, record.ordinal, '1')
  put_bit(inv.gone, record.ordinal, '0')
  redis.call('HINCRBY', inv.head, 'known', 1)
  redis.call('HINCRBY', inv.head, 'gone', -1)
  emit_about(inv, 'sim.returned', sim, by, cause)
  return true
end

-- The lines of the fields among these names.
local function only(lines, set)
  local kept = {}
  for name, value in string.gmatch(lines, '([^=:\n]+)([=:][^\n]*)') do
    if covers(set, name) then kept[#kept + 1] = name .. value end
  end
  return table.concat(kept, '\n')
end

-- Stores the response to one of our changes: `seen.set` has the fields that the change set, `returned` those that the
-- response contained; the others stay unchanged. `seen.basis` is the time of the SIM's last change before the call, '-'
-- if it was not known. If the SIM has changed since, calls have overlapped and this response may be older than what is
-- stored: only the fields that the change set are taken then.
local function take_answer(inv, sim, seen, returned, run)
  local text = record_of(inv, sim)
  if not text then return add_sim(inv, sim, seen.lines, 'answer', run) end
  local record = split_record(text)
  welcome_back(inv, sim, record, 'run', run)
  local seen_lines = seen.lines
  if record.updated ~= seen.basis then seen_lines, returned = only(seen.lines, seen.set), seen.set end
  local before, after = fields_of(record.lines), fields_of(seen_lines)
  local lines = { seen_lines }
  for name, value in pairs(before) do
    if not covers(returned, name) then
      after[name] = value
      lines[#lines + 1] = name .. value
    end
  end
  local by_lock = by_of_lock(inv, sim, run)
  local emitted = emit_changes(inv, sim, before, after, NO_FIELDS, function(field, value)
    if covers(seen.set, field) then return 'run', run end
    return by_lock(field, value)
  end)
  if emitted > 0 then
    table.sort(lines)
    record.lines = table.concat(lines, '\n')
    index_fields(inv.index, record.ordinal, before, after)
  end
  if record.by == 'sync' then record.by = 'run' end
  record.updated = inv.now
  put_bit(inv.seen, record.ordinal, '1')
  redis.call('HSET', inv.sims, sim, join_record(record))
end

-- Writes what the functions above have gathered of all SIMs: call it after the last one.
local function write_gathered(inv)
  write_added(inv)
  write_bits()
end

local function inventory(keys, profile, max_events)
  local head = redis.call('HMGET', keys[2], 'next', 'settled')
  return {
    sims = keys[1], head = keys[2], roll = keys[3], index = load_index(keys[4], keys[8]), seen = keys[5], locks = keys[6],
    events = keys[7], listed = keys[8] .. 'listed', gone = keys[8] .. 'gone', profile = profile, max_events = max_events,
    now = now_ms(), next = tonumber(head[1] or '0'), added = {}, records = {}, is_new = {}, is_settled = head[2] and true,
  }
end
