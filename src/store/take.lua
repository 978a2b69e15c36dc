-- Part of scripts: takes in what was seen of one SIM, and tells field by field what has changed.
--
-- inventory(keys, profile, most) gives the tables that the functions below want:
--   sims (hash: SIM -> record)   head (hash: next, known, gone, settled)   roll (prefix: chunk -> keys of its SIMs, a line
--   each)   signs (prefix: chunk -> signatures)   seen (bitmap: ordinals that the listing under way has shown)
--   claims (hash: SIM -> "run class")   events (stream)
-- A record is `ordinal digest by addedAtMs updatedAtMs goneAtMs` and a line for each field (sim-record.ts).
-- A digest of `?` is that of a SIM that no listing has shown yet: a run's answer did, which may not tell of every field.
-- `settled` in the head is set once a first sync has ended: before that nothing counts as added.

local SIMS_PER_CHUNK = 4096
local SIGNATURE = 40 -- a Bloom filter of 32 characters, and the codes of four fields (signature.ts)
local BLOOM = 32
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

-- Whether a set of field names has this one, or the object that it is a member of.
local function covers(set, name)
  while name do
    if set[name] then return true end
    name = string.match(name, '^(.*)%.[^.]*$')
  end
  return false
end

local function split_record(record)
  local header, lines = string.match(record, '^([^\n]*)\n?(.*)$')
  local ordinal, digest, by, added, updated, gone = string.match(header, '^(%d+) (%S+) (%S+) (%d+) (%d+) (%S+)$')
  return { ordinal = ordinal, digest = digest, by = by, added = added, updated = updated, gone = gone, lines = lines }
end

local function join_record(r)
  return table.concat({ r.ordinal, r.digest, r.by, r.added, r.updated, r.gone }, ' ') .. '\n' .. r.lines
end

local function chunk_of(ordinal)
  local chunk = math.floor(ordinal / SIMS_PER_CHUNK)
  return chunk, (ordinal - chunk * SIMS_PER_CHUNK) * SIGNATURE
end

local function sign(inv, ordinal, signature)
  local chunk, at = chunk_of(tonumber(ordinal))
  redis.call('SETRANGE', inv.signs .. chunk, at, signature)
end

-- What was seen of a part of a record adds its bits; those of what was there before stay until the next sync. A code
-- that is `~~` stays as it is.
local function sign_also(inv, ordinal, signature)
  local chunk, at = chunk_of(tonumber(ordinal))
  local before = redis.call('GETRANGE', inv.signs .. chunk, at, at + SIGNATURE - 1)
  local joined = {}
  for i = 1, BLOOM do
    joined[i] = string.char(bit.bor(string.byte(before, i) - ZERO, string.byte(signature, i) - ZERO) + ZERO)
  end
  for i = BLOOM + 1, SIGNATURE do
    local one = string.sub(signature, i, i)
    joined[i] = one == '~' and string.sub(before, i, i) or one
  end
  redis.call('SETRANGE', inv.signs .. chunk, at, table.concat(joined))
end

local function tell_of(inv, kind, sim, by, cause, ...)
  tell(inv.events, inv.most, kind, inv.profile, 'sim', sim, 'by', by, 'cause', cause, ...)
end

-- by_of(field, after) says who changed it, and which run or sync is named as the cause.
local function tell_changes(inv, sim, before, after, quiet, by_of)
  local names = {}
  for name, value in pairs(after) do
    if before[name] ~= value then names[#names + 1] = name end
  end
  for name in pairs(before) do
    if after[name] == nil then names[#names + 1] = name end
  end
  table.sort(names)
  local told = 0
  for _, name in ipairs(names) do
    if not covers(quiet, name) then
      local by, cause = by_of(name, after[name])
      local pairs_of = { 'field', name }
      if before[name] then pairs_of[#pairs_of + 1] = 'before' pairs_of[#pairs_of + 1] = before[name] end
      if after[name] then pairs_of[#pairs_of + 1] = 'after' pairs_of[#pairs_of + 1] = after[name] end
      tell_of(inv, 'sim.changed', sim, by, cause, unpack(pairs_of))
      told = told + 1
    end
  end
  return told
end

-- Strings that grow are given twice what they need: the chunk before is cut to its size, the new one made whole at once.
local function begin_chunk(inv, chunk)
  if chunk > 0 then
    local before = inv.roll .. (chunk - 1)
    redis.call('SET', before, redis.call('GET', before))
  end
  redis.call('SETRANGE', inv.signs .. chunk, (SIMS_PER_CHUNK - 1) * SIGNATURE, string.rep('0', SIGNATURE))
end

-- SIMs that are new get their ordinals at once and are written together, chunk by chunk: see write_new.
local function add_sim(inv, sim, seen, by, cause)
  if inv.is_new[sim] then return end
  local ordinal = inv.next
  inv.next = ordinal + 1
  inv.is_new[sim] = true
  local new = inv.new
  new.keys[#new.keys + 1] = sim
  new.signatures[#new.signatures + 1] = string.gsub(seen.signature, '~', '0')
  new.fields[#new.fields + 1] = sim
  new.fields[#new.fields + 1] = string.format('%d %s %s %s %s -\n', ordinal, seen.digest,
    by == 'run' and 'run' or 'sync', inv.now, inv.now) .. seen.lines
  if inv.is_settled then tell_of(inv, 'sim.added', sim, by, cause) end
  if inv.next % SIMS_PER_CHUNK == 0 or #new.keys == 500 then inv.write_new() end
end

-- To be called at the end of a script that may have added SIMs.
local function write_new(inv)
  local new = inv.new
  local count = #new.keys
  if count == 0 then return end
  local first = inv.next - count
  local chunk, at = chunk_of(first)
  if at == 0 then begin_chunk(inv, chunk) end
  redis.call('APPEND', inv.roll .. chunk, table.concat(new.keys, '\n') .. '\n')
  redis.call('SETRANGE', inv.signs .. chunk, at, table.concat(new.signatures))
  redis.call('HSET', inv.sims, unpack(new.fields))
  for ordinal = first, inv.next - 1 do redis.call('SETBIT', inv.seen, ordinal, 1) end
  redis.call('HSET', inv.head, 'next', inv.next)
  redis.call('HINCRBY', inv.head, 'known', count)
  inv.new = { keys = {}, signatures = {}, fields = {} }
end

local function welcome_back(inv, sim, record, by, cause)
  if record.gone == '-' then return false end
  record.gone = '-'
  redis.call('HINCRBY', inv.head, 'known', 1)
  redis.call('HINCRBY', inv.head, 'gone', -1)
  tell_of(inv, 'sim.returned', sim, by, cause)
  return true
end

-- What the answer to a change of ours showed: the fields that it told of (a set), the rest is as it was.
local function take_answer(inv, sim, seen, told_of, run)
  local text = redis.call('HGET', inv.sims, sim)
  if not text then return add_sim(inv, sim, seen, 'run', run) end
  local record = split_record(text)
  welcome_back(inv, sim, record, 'run', run)
  local before, after = fields_of(record.lines), fields_of(seen.lines)
  local lines = { seen.lines }
  for name, value in pairs(before) do
    if not covers(told_of, name) then
      after[name] = value
      lines[#lines + 1] = name .. value
    end
  end
  local told = tell_changes(inv, sim, before, after, NO_FIELDS, function(field)
    if field == 'speedClass' then return 'run', run end
    return 'outside', run
  end)
  if told > 0 then
    table.sort(lines)
    record.lines = table.concat(lines, '\n')
    -- The record as a whole is not known any more: the next listing is compared field by field.
    if record.digest ~= '?' then record.digest = '-' end
    sign_also(inv, record.ordinal, seen.signature)
  end
  record.by = 'run'
  record.updated = inv.now
  redis.call('SETBIT', inv.seen, record.ordinal, 1)
  redis.call('HSET', inv.sims, sim, join_record(record))
end

local function inventory(keys, profile, most)
  local head = redis.call('HMGET', keys[2], 'next', 'settled')
  local inv = {
    sims = keys[1], head = keys[2], roll = keys[3], signs = keys[4], seen = keys[5], claims = keys[6], events = keys[7],
    profile = profile, most = most, now = now_ms(), next = tonumber(head[1] or '0'), is_settled = head[2] and true,
    new = { keys = {}, signatures = {}, fields = {} }, is_new = {},
  }
  inv.write_new = function() write_new(inv) end
  return inv
end
