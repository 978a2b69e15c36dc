-- Tells of something that is outside of the store, once however often it is told.
--
-- KEYS  1 event feed (stream)   2 mark (string that expires)
-- ARGV  1 most events kept   2 seconds that the mark lives   3 type   4 profile   5 … field, value, …
-- Returns 1, or 0 when it was told before
-- Atomic: the mark and the event.

if not redis.call('SET', KEYS[2], '1', 'NX', 'EX', ARGV[2]) then return 0 end
tell(KEYS[1], ARGV[1], ARGV[3], ARGV[4], unpack(ARGV, 5))
return 1
