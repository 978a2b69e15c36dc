-- Marks the SIMs of one chunk that a complete listing did not show as gone; after the last chunk the sync is finished.
--
-- KEYS  1 … 8 the inventory (take.lua)   9 the sync (hash)
-- ARGV  1 profile   2 maximum number of events kept   3 sync id   4 chunk   5 stored fields, as configured
--       6 why the listing was not complete, or '': then it marks nothing, and the first sync is still to come
-- Returns 'more' if the chunk has more SIMs to mark than one call marks, 'swept' if more chunks follow, 'finished'
--   after the last one, or 'stale' if the sync has moved on
-- Atomic: everything. A sync reaches this state only after its last page, so an incomplete listing marks nothing.

local profile, max_events, sync_id = ARGV[1], ARGV[2], ARGV[3]
local chunk_text, stored_fields, part = ARGV[4], ARGV[5], ARGV[6]
local inv = inventory(KEYS, profile, max_events)
local sync = redis.call('HMGET', KEYS[9], 'syncId', 'phase', 'chunk')
if sync[1] ~= sync_id or sync[2] ~= 'sweeping' or sync[3] ~= chunk_text then return 'stale' end
local chunk = tonumber(chunk_text)
local next_ordinal = tonumber(redis.call('HGET', inv.head, 'next') or '0')
local first = chunk * SIMS_PER_CHUNK

local MAX_MARKED = 1000 -- SIMs in one call, so that Redis's other callers do not wait for long
local marked = 0

local function mark_gone(sim)
  local record = split_record(redis.call('HGET', inv.sims, sim))
  marked = marked + 1
  record.gone = inv.now
  redis.call('HSET', inv.sims, sim, join_record(record))
  redis.call('SETBIT', inv.listed, record.ordinal, 0)
  redis.call('SETBIT', inv.gone, record.ordinal, 1)
  redis.call('HINCRBY', inv.head, 'known', -1)
  redis.call('HINCRBY', inv.head, 'gone', 1)
  redis.call('HINCRBY', KEYS[9], 'gone', 1)
  emit_about(inv, 'sim.gone', sim, 'external', sync_id)
end

local function bits_of(bitmap) return redis.call('GETRANGE', bitmap, first / 8, (first + SIMS_PER_CHUNK) / 8 - 1) end

local listed, seen = bits_of(inv.listed), bits_of(inv.seen)
if part == '' and listed ~= seen then
  local keys = {}
  for key in string.gmatch(redis.call('GET', inv.roll .. chunk) or '', '[^\n]+') do keys[#keys + 1] = key end
  for at = 1, #listed do
    local unseen = bit.band(string.byte(listed, at), bit.bnot(string.byte(seen, at) or 0))
    for place = 0, unseen == 0 and -1 or 7 do
      if bit.band(unseen, bit.rshift(128, place)) ~= 0 then
        -- Those that are marked are not listed when the chunk is processed again.
        if marked == MAX_MARKED then return 'more' end
        mark_gone(keys[(at - 1) * 8 + place + 1])
      end
    end
  end
end

if part == '' and first + SIMS_PER_CHUNK < next_ordinal then
  redis.call('HSET', KEYS[9], 'chunk', chunk + 1)
  return 'swept'
end
redis.call('HSET', KEYS[9], 'phase', 'finished', 'finishedAtMs', inv.now)
if part == '' then
  redis.call('HSET', inv.head, 'settled', sync_id, 'fields', stored_fields, 'listedAtMs', redis.call('HGET', KEYS[9], 'startedAtMs'))
else
  redis.call('HSET', KEYS[9], 'reason', part)
end
redis.call('UNLINK', inv.seen)
local done = redis.call('HMGET', KEYS[9], 'sims', 'added', 'changed', 'returned', 'gone')
emit(inv.events, inv.max_events, 'sync.completed', profile, 'cause', sync_id, 'sims', done[1], 'added', done[2],
  'changed', done[3], 'returned', done[4], 'gone', done[5])
return 'finished'
