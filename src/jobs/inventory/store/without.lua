-- Selects the SIMs whose records contain none of the given texts. It filters inside Redis what a condition such as
-- speedClass!=s1.fast would otherwise have to fetch.
--
-- KEYS  1 sims (hash: SIM -> record, see sim-record.ts)
-- ARGV  1 number of texts   2 … the texts   then the SIMs
-- Returns the places of the SIMs whose record contains none of the texts, counted from 0
-- Atomic: reads only.

local texts = {}
for at = 2, 1 + ARGV[1] do texts[#texts + 1] = ARGV[at] end
local first = 2 + ARGV[1]
local places = {}
for at = first, #ARGV do
  local record = redis.call('HGET', KEYS[1], ARGV[at])
  local is_without = record and true
  if record then
    record = record .. '\n'
    for _, text in ipairs(texts) do
      if string.find(record, text, 1, true) then
        is_without = false
        break
      end
    end
  end
  if is_without then places[#places + 1] = at - first end
end
return places
