-- Removes SIMs of one chunk from the inventory that have been gone for long.
--
-- KEYS  1 … 8 the inventory (take.lua)
-- ARGV  1 profile   2 maximum number of events kept   3 chunk   4 instant before which they went, ms   5 … SIMs
-- Returns the number of removed SIMs
-- Atomic: everything. A SIM that has returned, or that a run is about to change, stays. The place of a removed SIM in
-- the key order stays taken, since ordinals are never reused; one that is listed again later is a new SIM.

local profile, max_events, chunk, before = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local inv = inventory(KEYS, profile, max_events)
local is_removed, removed = {}, 0
for at = 5, #ARGV do
  local sim = ARGV[at]
  local text = redis.call('HGET', inv.sims, sim)
  local record = text and split_record(text)
  local is_old = record and record.gone ~= '-' and tonumber(record.gone) < before
  if is_old and redis.call('HEXISTS', inv.locks, sim) == 0 then
    redis.call('HDEL', inv.sims, sim)
    redis.call('SETBIT', inv.gone, record.ordinal, 0)
    index_fields(inv.index, record.ordinal, fields_of(record.lines), NO_FIELDS)
    is_removed[sim] = FORGOTTEN
    removed = removed + 1
  end
end
write_bits()
if removed == 0 then return 0 end
local roll = redis.call('GET', inv.roll .. chunk)
redis.call('SET', inv.roll .. chunk, (string.gsub(roll, '[^\n]+', is_removed)))
redis.call('HINCRBY', inv.head, 'gone', -removed)
return removed
