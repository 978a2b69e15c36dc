-- Reads the bitmaps of the values that a filter names.
--
-- KEYS  1 index (hash, index.lua)   2 bitmaps (prefix)
-- ARGV  1 presence: 'listed', 'gone' or 'all'   2 … for each condition its field, the number of values, '*' for all
--       that the field has, and the values
-- Returns { the bitmaps of the SIMs with this presence, for each condition pairs of a value and its bitmap, or 0 if the
--   field is not indexed }
-- Atomic: reads only.

local index = load_index(KEYS[1], KEYS[2])
local function bitmap(id) return redis.call('GET', index.prefix .. id) or '' end

local present, conditions = {}, {}
if ARGV[1] ~= 'gone' then present[1] = bitmap('listed') end
if ARGV[1] ~= 'listed' then present[#present + 1] = bitmap('gone') end
local at = 2
while at <= #ARGV do
  local name, values = ARGV[at], ARGV[at + 1]
  local last = at + 1 + (tonumber(values) or 0)
  local ids = index.fields[name] and index.fields[name].ids or {}
  local found = {}
  local function add(value)
    if ids[value] then found[#found + 1] = { string.sub(value, 2), bitmap(ids[value]) } end
  end
  if values == '*' then
    for value in pairs(ids) do add(value) end
  else
    for i = at + 2, last do
      add('=' .. ARGV[i])
      add(':' .. ARGV[i])
    end
  end
  conditions[#conditions + 1] = is_indexed(index, name) and found or 0
  at = last + 1
end
return { present, conditions }
