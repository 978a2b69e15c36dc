-- Stores attempts that did not settle a row, unless another process has marked the row as sent.
--
-- KEYS  1 tries of the segment (hash: place -> JSON)
-- ARGV  1 owner of the mark that the caller read, or ''   2 place   3 tries of the row, JSON   4 place   5 tries   …
-- Returns nothing
-- Atomic: everything. A process that has lost its job may come late: it takes back no mark of the one that took over.

local tries, owner = KEYS[1], ARGV[1]
for at = 2, #ARGV, 2 do
  local before = redis.call('HGET', tries, ARGV[at])
  if not before or (cjson.decode(before).owner or '') == owner then redis.call('HSET', tries, ARGV[at], ARGV[at + 1]) end
end
