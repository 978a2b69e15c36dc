-- Ends the soak of a wave: opens the next one, and pauses the run if the gate was not held.
--
-- KEYS  1 run head (hash)   2 event stream   3 finished segments of the run (hash)
-- ARGV  1 wave, from 0   2 what the gate found, as JSON, or ''   3 why the run pauses, or ''   4 run id
--       5 maximum number of events kept
-- Returns nothing
-- Atomic: everything. A wave is ended once, and only that of a running run, which may pause. A later wave of which
-- other runs have superseded all rows is passed over. Nothing is counted for the last wave: its `waveEnd` is 0.

local wave, found, reason = ARGV[1], ARGV[2], ARGV[3]
local state, open, soak, waves, spans = unpack(redis.call('HMGET', KEYS[1], 'state', 'wave', 'soakUntilMs', 'waves', 'segments'))
if state ~= 'running' or open ~= wave or not soak then return end
local at, left = tonumber(wave), 0
waves, spans = cjson.decode(waves), cjson.decode(spans)
repeat
  at = at + 1
  for segment = waves[at]['end'], waves[at + 1]['end'] - 1 do
    local is_open = redis.call('HEXISTS', KEYS[3], segment) == 0
    if is_open then left = left + spans[segment + 1].callable - redis.call('HLEN', KEYS[1] .. ':segment:' .. segment) end
  end
until left > 0 or at == #waves - 1
redis.call('HSET', KEYS[1], 'wave', at, 'waveStart', waves[at]['end'], 'waveLeft', left, 'waveEnd',
  at == #waves - 1 and 0 or waves[at + 1]['end'])
if found ~= '' then redis.call('HSET', KEYS[1], 'check.' .. open, found) end
redis.call('HDEL', KEYS[1], 'soakUntilMs', 'isStalled')
clear_problem(KEYS[1])
if reason ~= '' then
  redis.call('HSET', KEYS[1], 'state', 'paused', 'reason', reason)
  emit_run(KEYS[2], ARGV[5], 'run.paused', KEYS[1], ARGV[4], '')
end
