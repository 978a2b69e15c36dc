-- Reads the IMSIs of SIMs, since their records would be twenty times as long.
--
-- KEYS  1 records of the SIMs (hash)
-- ARGV  1 … keys of SIMs
-- Returns the IMSIs, '' where a record has none
-- Atomic: reads only.

for i = 1, #ARGV do
  ARGV[i] = string.match(redis.call('HGET', KEYS[1], ARGV[i]) or '', '\nimsi=([^\n]*)') or ''
end
return ARGV
