-- One exchange with a bucket: processes reported observations, then grants permits for calls. It is the last part of
-- one script; refresh-instant, bucket-state, bucket-answers and bucket-permits precede it.
--
-- KEYS  1 bucket hash   2 permits in flight (hash: id -> end of lease)   3 set of all buckets   4 waiters (hash)
--       5 windows that ended, the newest first (list: end, ms; calls; of these, answered with 429; limit)
--       6 ways in which the platform may round its seconds, for all buckets of one address (string)
-- ARGV  1 bucket name   2 period, ms   3 reserve: 'auto', or a share, where 0 keeps nothing   4 lease of a permit, ms
--       5 process id   6 permits wanted   7 number of the first permit wanted   8 urgency, 'normal' or 'priority'
--       9 total number of calls that the callers still want, or -1 if unknown   10 '1': live calls may come from now on
--       11 permits to take ahead, beyond those wanted
--       12 … observations, each one text of eleven values separated by commas:
--          permit number, kind ('answered' 'throttled' 'lost' 'back'), window, serial, granted at, sent after ms,
--          received ms ago, limit, remaining, seconds before refresh (these three '' without headers), retry after ms
-- Returns { now, window, first serial, granted, wait ms (0: ask again after a response), limit, left, in flight,
--           reserved, refresh earliest, refresh latest, blocked until, kept for others now, calls that
--           others need, granted ahead } ; times in ms of Redis's clock, '' for unknown
-- Atomic: everything. From its grant a permit counts as a spent call for all processes, until it is answered, given
-- back, or its lease expires. Repeating an exchange with the same numbers grants the same permits, not more.

take_back_own()
reset_if_clock_went_back()
pass_refresh()
apply_reported_backlog()
if urgent or ARGV[10] == '1' then b.live_at = now end
for at = FIRST_OBSERVATION, #ARGV do take_in(ARGV[at]) end
pass_refresh()
local granted, wait = grants()
local granted_ahead = granted < want and 0 or grants_ahead(granted)
local first_serial, leases = b.serial + 1, {}
for i = 0, granted + granted_ahead - 1 do
  leases[#leases + 1] = process .. ':' .. string.format('%d', first_id + i)
  leases[#leases + 1] = string.format('%.0f', now + lease)
end
if #leases > 0 then in_flight = in_flight + redis.call('HSET', KEYS[2], unpack(leases)) end
b.serial, b.granted = b.serial + #leases / 2, b.granted + #leases / 2
if urgent then b.live = (b.live or 0) + granted end
if want > granted then
  if not urgent then b.bulk_at = now end
  redis.call('HSET', KEYS[4], process, string.format('%d:%.0f', want - granted, now))
  redis.call('PEXPIRE', KEYS[4], 60000)
elseif want > 0 or #ARGV >= FIRST_OBSERVATION then
  redis.call('HDEL', KEYS[4], process)
end

-- For display: the calls since 00:00 UTC.
local day = math.floor(now / 86400000)
if b.day ~= day then b.day, b.day_calls, b.day_throttled = day, 0, 0 end
b.day_calls = b.day_calls + b.calls - (before.calls or 0)
b.day_throttled = b.day_throttled + b.throttled - (before.throttled or 0)

-- Only what has changed: writing all numbers again would take most of the script's time.
local write, gone = {}, {}
-- A bucket whose windows are not consecutive rules out a way only for itself.
if b.ways ~= before.ways and (is_periodic() or #b.ways > #before.ways) then
  redis.call('SET', KEYS[6], is_periodic() and b.ways or 'und', 'PX', UNUSED_MS)
end
for _, name in ipairs(NUMBERS) do
  if b[name] == nil and before[name] then
    gone[#gone + 1] = name
  elseif b[name] ~= before[name] then
    write[#write + 1] = name
    write[#write + 1] = string.format('%.3f', b[name])
  end
end
if #write > 0 then redis.call('HSET', KEYS[1], unpack(write)) end
if #gone > 0 then redis.call('HDEL', KEYS[1], unpack(gone)) end
redis.call('PEXPIRE', KEYS[1], UNUSED_MS)
redis.call('SADD', KEYS[3], ARGV[1])

local earliest, latest = refresh_bounds(b)
local function shown(number) return number and string.format('%.3f', number) or '' end
return { shown(now), b.window, first_serial, granted, shown(math.max(0, wait)), shown(b.limit),
  shown(b.left and math.max(0, b.left)), in_flight,
  shown(b.limit and math.ceil(b.limit * share)), shown(earliest), shown(latest), shown(b.blocked),
  shown(b.limit and earliest and yields and kept_for_others(earliest - now, is_waited_for())), need(), granted_ahead }
