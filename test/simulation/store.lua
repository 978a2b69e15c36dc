-- The commands of Redis that the limiter's scripts use, on tables of this process: they run unchanged, without Redis.
-- It is written for Lua 5.1, as Redis's scripts are, and runs in 5.3 and LuaJIT as well.
--
-- Values: hashes and sets of strings, and strings. A key expires when it is used after its time. A mistake in a
-- command, such as an unknown one, is an error: nothing is guessed.

local values, expiries = {}, {}
local now_ms = 0

local function live(key)
  local expires = expiries[key]
  if expires and expires <= now_ms then values[key], expiries[key] = nil, nil end
  return values[key]
end

-- A hash or set: `fields`, and their number.
local function held(key)
  local value = live(key)
  if not value then
    value = { fields = {}, size = 0 }
    values[key] = value
  end
  return value
end

-- Numbers are stored as Redis writes them.
local function text(value)
  if type(value) == 'number' then return string.format('%.17g', value) end
  return value
end

local commands = {}

function commands.TIME()
  local seconds = math.floor(now_ms / 1000)
  return { string.format('%.0f', seconds), string.format('%.0f', math.floor((now_ms - seconds * 1000) * 1000)) }
end

function commands.GET(key) return live(key) or false end

function commands.SET(key, value, unit, ttl)
  assert(unit == 'PX', 'SET without PX')
  values[key], expiries[key] = text(value), now_ms + tonumber(ttl)
end

function commands.EXISTS(key) return live(key) and 1 or 0 end

function commands.PEXPIRE(key, ttl)
  if not live(key) then return 0 end
  expiries[key] = now_ms + tonumber(ttl)
  return 1
end

function commands.HSET(key, ...)
  local hash, added = held(key), 0
  local given = { ... }
  for i = 1, #given, 2 do
    local field = text(given[i])
    if hash.fields[field] == nil then added = added + 1 end
    hash.fields[field] = text(given[i + 1])
  end
  hash.size = hash.size + added
  return added
end

function commands.HMGET(key, ...)
  local hash, found = live(key), { ... }
  for i = 1, #found do found[i] = hash and hash.fields[found[i]] or false end
  return found
end

function commands.HDEL(key, ...)
  local hash, removed = live(key), 0
  if not hash then return 0 end
  for _, field in ipairs({ ... }) do
    if hash.fields[field] ~= nil then
      hash.fields[field] = nil
      removed = removed + 1
    end
  end
  hash.size = hash.size - removed
  if hash.size == 0 then values[key], expiries[key] = nil, nil end
  return removed
end

function commands.HLEN(key)
  local hash = live(key)
  return hash and hash.size or 0
end

function commands.HGETALL(key)
  local hash, pairs_of = live(key), {}
  for field, value in pairs(hash and hash.fields or {}) do
    pairs_of[#pairs_of + 1] = field
    pairs_of[#pairs_of + 1] = value
  end
  return pairs_of
end

-- A list is a hash of its members by number, the newest with the highest; it is written and never read.
function commands.LPUSH(key, member)
  local list = held(key)
  list.last = (list.last or 0) + 1
  commands.HSET(key, list.last, member)
  return list.size
end

function commands.LTRIM(key, _, last)
  local list = live(key)
  if list then commands.HDEL(key, text(list.last - last - 1)) end
end

function commands.SADD(key, member)
  return commands.HSET(key, member, '')
end

function commands.SMEMBERS(key)
  local set, members = live(key), {}
  for member in pairs(set and set.fields or {}) do members[#members + 1] = member end
  return members
end

local store = {}

-- At `ms`, milliseconds since 1970: all that follows happens then.
function store.at(ms) now_ms = ms end

-- Deletes a key; `DEL` is no command that a script uses.
function store.delete(key) values[key], expiries[key] = nil, nil end

function store.call(name, ...)
  local command = commands[name]
  if not command then error('The store has no command ' .. tostring(name)) end
  return command(...)
end

return store
