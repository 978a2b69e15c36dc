-- Included in scripts that change something: emits the event of the change in the same step.
--
-- emit(stream, max, type, profile, field, value, …) adds an event to the stream (limited to about `max` events, the
-- oldest are removed first) and returns its id.

local function emit(stream, max, type, profile, ...)
  return redis.call('XADD', stream, 'MAXLEN', '~', max, '*', 'type', type, 'profile', profile, ...)
end
