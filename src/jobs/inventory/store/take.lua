-- Included in other scripts: stores what was seen of a SIM, and emits an event for each changed field.
--
-- inventory(keys, profile, most) returns the table that the functions below expect:
--   sims (hash: SIM -> record)   head (hash: next, known, gone, settled)   roll (prefix: chunk -> keys of its SIMs, one per
--   line)   signs (prefix: chunk -> signatures)   seen (bitmap: ordinals that the current listing has shown)
--   claims (hash: SIM -> run id, then a line for each field that it sets: `name=value`, or `name` for none)   events (stream)   digests (prefix: chunk -> digests)
-- A record is `ordinal by addedAtMs updatedAtMs goneAtMs` and a line for each field (sim-record.ts).
-- A digest is that of the record as a listing showed it; it is valid only while the SIM is listed and unchanged since that
-- listing. UNLISTED marks a SIM that only a run's response has shown, which may lack fields.
-- UNKNOWN marks a SIM that a run has changed since, or that is gone: the next listing is compared field by field.
-- `settled` in the head is set when the first sync has finished: before that no SIM counts as added.

local SIMS_PER_CHUNK = 4096
local SIGNATURE = 52 -- a Bloom filter of 32 characters, and columns of codes (signature.ts)
local BLOOM = 32
local MOST_AT_ONCE = 1000 -- SIMs in one call
local DIGEST = 13
local UNLISTED = string.rep('?', DIGEST)
local UNKNOWN = string.rep('!', DIGEST)
local FORGOTTEN = '-' -- in the key order, the place of a SIM that was removed; ordinals are never reused
local ZERO = 48 -- '0', the character of six bits that are not set
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
  return { ordinal = tonumber(ordinal), by = by, added = added, updated = updated, gone = gone, lines = lines }
end

local function join_record(r)
  return table.concat({ r.ordinal, r.by, r.added, r.updated, r.gone }, ' ') .. '\n' .. r.lines
end

-- Calls visit(chunk, place in the chunk, number of ordinals before, number) for each chunk of a range of ordinals.
local function each_chunk(first, count, visit)
  local before = 0
  while before < count do
    local chunk = math.floor((first + before) / SIMS_PER_CHUNK)
    local place = first + before - chunk * SIMS_PER_CHUNK
    local here = math.min(count - before, SIMS_PER_CHUNK - place)
    visit(chunk, place, before, here)
    before = before + here
  end
end

-- Signatures and digests have `width` characters per SIM and are concatenated by chunk.
local function read_slots(prefix, width, first, count)
  local parts = {}
  each_chunk(first, count, function(chunk, place, _, here)
    parts[#parts + 1] = redis.call('GETRANGE', prefix .. chunk, place * width, (place + here) * width - 1)
  end)
  return table.concat(parts)
end

local function write_slots(prefix, width, first, text)
  each_chunk(first, #text / width, function(chunk, place, before, here)
    redis.call('SETRANGE', prefix .. chunk, place * width, string.sub(text, before * width + 1, (before + here) * width))
  end)
end

local function sign(inv, ordinal, signature) write_slots(inv.signs, SIGNATURE, ordinal, signature) end
local function digest_of(inv, ordinal) return read_slots(inv.digests, DIGEST, ordinal, 1) end
local function set_digest(inv, ordinal, digest) write_slots(inv.digests, DIGEST, ordinal, digest) end

-- Marks a range of ordinals as seen, eight per byte where they fill it.
local function mark_seen(inv, first, count)
  local last = first + count
  while first < last do
    local bytes = first % 8 == 0 and math.floor((last - first) / 8) or 0
    if bytes > 0 then
      redis.call('SETRANGE', inv.seen, first / 8, string.rep('\255', bytes))
      first = first + bytes * 8
    else
      redis.call('SETBIT', inv.seen, first, 1)
      first = first + 1
    end
  end
end

-- A partial record only adds its bits; the bits of old values stay until the next sync. A code character `~` keeps the
-- present code.
local function sign_also(inv, ordinal, signature)
  local before = read_slots(inv.signs, SIGNATURE, ordinal, 1)
  local joined = {}
  for i = 1, BLOOM do
    joined[i] = string.char(bit.bor(string.byte(before, i) - ZERO, string.byte(signature, i) - ZERO) + ZERO)
  end
  for i = BLOOM + 1, SIGNATURE do
    local one = string.sub(signature, i, i)
    joined[i] = one == '~' and string.sub(before, i, i) or one
  end
  sign(inv, ordinal, table.concat(joined))
end

local function emit_about(inv, kind, sim, by, cause, ...)
  emit(inv.events, inv.most, kind, inv.profile, 'sim', sim, 'by', by, 'cause', cause, ...)
end

-- Emits an event for each changed field; returns how many. by_of(field, after) returns who changed the field, and the run or sync that is the cause.
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

-- A value that a run is just setting is attributed to the run, whatever shows it first: a listing, or the response to the
-- run's other row for the SIM. Anything else was changed outside, as `cause` has found.
local function by_of_claim(inv, sim, cause)
  local run, set
  return function(field, after)
    if not run then
      local claim = redis.call('HGET', inv.claims, sim) or ''
      local lines
      run, lines = string.match(claim, '^([^\n]+)\n(.*)$')
      run = run or ''
      set = {}
      for name, value in string.gmatch(lines or '', '([^=:\n]+)([^\n]*)') do set[name] = value end
    end
    if run ~= '' and set[field] == (after or '') then return 'run', run end
    return 'outside', cause
  end
end

-- Redis allocates twice the needed size for growing strings: rewrite the previous chunk at its size, and create the new one whole.
local function begin_chunk(inv, chunk)
  if chunk > 0 then
    local before = inv.roll .. (chunk - 1)
    redis.call('SET', before, redis.call('GET', before))
  end
  local last = (chunk + 1) * SIMS_PER_CHUNK - 1
  sign(inv, last, string.rep('0', SIGNATURE))
  set_digest(inv, last, UNKNOWN)
end

-- Must be called at the end of a script that may have added SIMs.
local function write_new(inv)
  local new = inv.new
  local count = #new.keys
  if count == 0 then return end
  local first = inv.next - count
  local chunk = math.floor(first / SIMS_PER_CHUNK)
  if first % SIMS_PER_CHUNK == 0 then begin_chunk(inv, chunk) end
  redis.call('APPEND', inv.roll .. chunk, table.concat(new.keys, '\n') .. '\n')
  write_slots(inv.signs, SIGNATURE, first, table.concat(new.signatures))
  write_slots(inv.digests, DIGEST, first, table.concat(new.digests))
  redis.call('HSET', inv.sims, unpack(new.fields))
  mark_seen(inv, first, count)
  redis.call('HSET', inv.head, 'next', inv.next)
  redis.call('HINCRBY', inv.head, 'known', count)
  inv.new = { keys = {}, signatures = {}, digests = {}, fields = {} }
end

-- New SIMs get their ordinals at once and are written together, chunk by chunk. Must be called before they are added;
-- returns how many fit in the current chunk.
local function room_for_new(inv)
  if inv.next % SIMS_PER_CHUNK == 0 or #inv.new.keys == MOST_AT_ONCE then write_new(inv) end
  return math.min(SIMS_PER_CHUNK - inv.next % SIMS_PER_CHUNK, MOST_AT_ONCE - #inv.new.keys)
end

local function add_lines(inv, sim, lines, by, cause)
  local new = inv.new
  local at = #new.keys + 1
  inv.is_new[sim] = true
  new.keys[at] = sim
  new.fields[2 * at - 1] = sim
  new.fields[2 * at] = inv.next .. (by == 'run' and inv.header_by_run or inv.header) .. lines
  inv.next = inv.next + 1
  if inv.is_settled then emit_about(inv, 'sim.added', sim, by, cause) end
end

-- Signatures and digests may cover several consecutive SIMs, whose lines are added one by one afterwards.
local function add_slots(inv, signatures, digests)
  local new = inv.new
  new.signatures[#new.signatures + 1] = signatures
  new.digests[#new.digests + 1] = digests
end

local function welcome_back(inv, sim, record, by, cause)
  if record.gone == '-' then return false end
  record.gone = '-'
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
-- response contained; the others stay unchanged. `seen.basis` is the time of the SIM's last change before the call, '-' if
-- it was not known. If the SIM has changed since, calls have overlapped and this response may be older than what is
-- stored: only the fields that the change set are taken then.
local function take_answer(inv, sim, seen, returned, run)
  if inv.is_new[sim] then write_new(inv) end
  local text = redis.call('HGET', inv.sims, sim)
  if not text then
    room_for_new(inv)
    add_slots(inv, string.gsub(seen.signature, '~', '0'), UNLISTED)
    return add_lines(inv, sim, seen.lines, 'run', run)
  end
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
  local by_claim = by_of_claim(inv, sim, run)
  local emitted = emit_changes(inv, sim, before, after, NO_FIELDS, function(field, value)
    if covers(seen.set, field) then return 'run', run end
    return by_claim(field, value)
  end)
  if emitted > 0 then
    table.sort(lines)
    record.lines = table.concat(lines, '\n')
    if digest_of(inv, record.ordinal) ~= UNLISTED then set_digest(inv, record.ordinal, UNKNOWN) end
    sign_also(inv, record.ordinal, seen.signature)
  end
  record.by = 'run'
  record.updated = inv.now
  redis.call('SETBIT', inv.seen, record.ordinal, 1)
  redis.call('HSET', inv.sims, sim, join_record(record))
end

local function inventory(keys, profile, most)
  local head = redis.call('HMGET', keys[2], 'next', 'settled')
  local now = now_ms()
  return {
    sims = keys[1], head = keys[2], roll = keys[3], signs = keys[4], seen = keys[5], claims = keys[6], events = keys[7],
    digests = keys[8], profile = profile, most = most, now = now, next = tonumber(head[1] or '0'),
    is_settled = head[2] and true, new = { keys = {}, signatures = {}, digests = {}, fields = {} }, is_new = {},
    header = ' sync ' .. now .. ' ' .. now .. ' -\n', header_by_run = ' run ' .. now .. ' ' .. now .. ' -\n',
  }
end
