-- Emits an event for each SIM that has crossed a threshold and has not been reported for it in this period.
--
-- KEYS  1 event stream   2 reported SIMs (bitmap of ordinals)
-- ARGV  1 profile   2 maximum number of events kept   3 when the bitmap expires, ms
--       4 threshold   5 per   6 period   7 over   8 sync   9 … for each SIM its ordinal, its key and its bytes
-- Returns the number of events
-- Atomic: everything. A SIM is reported and marked in one step, so repeating it has no effect.

local crossed = 0
for at = 9, #ARGV, 3 do
  if redis.call('SETBIT', KEYS[2], ARGV[at], 1) == 0 then
    emit(KEYS[1], ARGV[2], 'sim.usage-crossed', ARGV[1], 'sim', ARGV[at + 1], 'threshold', ARGV[4], 'per', ARGV[5],
      'period', ARGV[6], 'over', ARGV[7], 'bytes', ARGV[at + 2], 'cause', ARGV[8])
    crossed = crossed + 1
  end
end
redis.call('PEXPIREAT', KEYS[2], ARGV[3])
return crossed
