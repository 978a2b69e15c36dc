-- Included in other scripts: the index of the inventory, a bitmap of ordinals for each value of a field.
--
-- The index (hash) maps a line of a record, `name=text` or `name:json`, to the number of its bitmap (string: prefix ..
-- number). A field with more than MAX_VALUES values at a time is not indexed, and never will be: `name` maps to `-`. A
-- member of an object is a field of its own, and the object has the value `{}`, as filters see it. If the index is
-- full, the empty name maps to `-`: no further field is indexed. A field that is neither in the index nor rejected has
-- no value in any SIM.

local MAX_VALUES = 64
local MAX_FIELDS = 64
local MAX_BITMAPS = 512 -- of all fields: at most 64 bytes for each SIM
local OBJECT = '={}'

-- Bits to write, by bitmap, as arguments of BITFIELD: a command for each bit takes most of the time of a first sync.
local bits = {}
local MAX_ARGUMENTS = 4000 -- unpack takes less than 8000

local function write_bits()
  for bitmap, ops in pairs(bits) do redis.call('BITFIELD', bitmap, unpack(ops)) end
  bits = {}
end

-- Writes a bit with the next `write_bits`.
local function put_bit(bitmap, ordinal, value)
  local ops = bits[bitmap]
  if not ops then
    ops = {}
    bits[bitmap] = ops
  end
  local at = #ops
  ops[at + 1], ops[at + 2], ops[at + 3], ops[at + 4] = 'SET', 'u1', ordinal, value
  if at + 4 >= MAX_ARGUMENTS then write_bits() end
end

-- fields: name -> { ids = { value, after its mark `=` or `:` -> number of its bitmap }, count }, or false if it is not
-- indexed. Numbers of bitmaps and ordinals are texts, since Redis takes longer to write a number than to set a bit.
local function load_index(key, prefix)
  local index = { key = key, prefix = prefix, fields = {}, fields_count = 0, bitmaps = 0, last_id = 0 }
  local entries = redis.call('HGETALL', key)
  for at = 1, #entries, 2 do
    local name, value = string.match(entries[at], '^([^=:]*)([=:].*)$')
    if entries[at] == '' then
      index.is_full = true
    elseif not name then
      index.fields[entries[at]] = false
      index.fields_count = index.fields_count + 1
    else
      local id = entries[at + 1]
      local field = index.fields[name]
      if not field then
        field = { ids = {}, count = 0 }
        index.fields[name] = field
        index.fields_count = index.fields_count + 1
      end
      field.ids[value] = id
      field.count = field.count + 1
      index.bitmaps = index.bitmaps + 1
      index.last_id = math.max(index.last_id, tonumber(id))
    end
  end
  return index
end

local function is_indexed(index, name)
  local field = index.fields[name]
  return field and true or (field == nil and not index.is_full)
end

local function remove_bitmap(index, name, value)
  local field = index.fields[name]
  local bitmap = index.prefix .. field.ids[value]
  bits[bitmap] = nil
  redis.call('UNLINK', bitmap)
  redis.call('HDEL', index.key, name .. value)
  field.ids[value] = nil
  field.count = field.count - 1
  index.bitmaps = index.bitmaps - 1
end

-- Removes the bitmaps of values that no SIM has anymore.
local function remove_unused(index, name)
  write_bits()
  for value, id in pairs(index.fields[name].ids) do
    if redis.call('BITPOS', index.prefix .. id, 1) == -1 then remove_bitmap(index, name, value) end
  end
end

local function drop_field(index, name)
  for value in pairs(index.fields[name].ids) do remove_bitmap(index, name, value) end
  index.fields[name] = false
  redis.call('HSET', index.key, name, '-')
end

-- The number of a value's bitmap, of a new one if the value is new; nil if the field is not indexed.
local function bitmap_for(index, name, value)
  if not is_indexed(index, name) then return nil end
  local field = index.fields[name]
  if not field then
    if index.fields_count >= MAX_FIELDS then
      index.is_full = true
      redis.call('HSET', index.key, '', '-')
      return nil
    end
    field = { ids = {}, count = 0 }
    index.fields[name] = field
    index.fields_count = index.fields_count + 1
  end
  if field.ids[value] then return field.ids[value] end
  if field.count >= MAX_VALUES then remove_unused(index, name) end
  if field.count >= MAX_VALUES or index.bitmaps >= MAX_BITMAPS then return drop_field(index, name) end
  index.last_id, index.bitmaps, field.count = index.last_id + 1, index.bitmaps + 1, field.count + 1
  local id = string.format('%d', index.last_id)
  field.ids[value] = id
  redis.call('HSET', index.key, name .. value, id)
  return id
end

-- Name of a field -> names of the objects around it.
local outers = {}

local function outers_of(name)
  if outers[name] then return outers[name] end
  local found = {}
  local outer = string.match(name, '^(.*)%.')
  while outer do
    found[#found + 1] = outer
    outer = string.match(outer, '^(.*)%.')
  end
  outers[name] = found
  return found
end

-- Adds the objects that have some of the fields as members.
local function add_objects(fields)
  local objects = {}
  for name in pairs(fields) do
    for _, outer in ipairs(outers_of(name)) do objects[outer] = true end
  end
  for name in pairs(objects) do fields[name] = fields[name] or OBJECT end
end

-- Writes what a SIM has and no longer has to the bitmaps. It adds objects to the fields (name -> value after its mark).
local function index_fields(index, ordinal, before, after)
  add_objects(before)
  add_objects(after)
  for name, value in pairs(before) do
    local field = after[name] ~= value and index.fields[name]
    if field and field.ids[value] then put_bit(index.prefix .. field.ids[value], ordinal, '0') end
  end
  for name, value in pairs(after) do
    local id = before[name] ~= value and bitmap_for(index, name, value)
    if id then put_bit(index.prefix .. id, ordinal, '1') end
  end
end
