-- Emits an event of something outside the store; repeating it has no effect.
--
-- KEYS  1 event stream   2 mark (string with expiry)
-- ARGV  1 maximum number of events kept   2 lifetime of the mark, s   3 type   4 profile   5 … field, value, …
-- Returns 1, or 0 if it was emitted before
-- Atomic: the mark and the event.

local max_events, lifetime_s, event_type, profile = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', lifetime_s) then return 0 end
emit(KEYS[1], max_events, event_type, profile, unpack(ARGV, 5))
return 1
