-- Included in scripts that change something: emits the event of the change in the same step.
--
-- emit(stream, most, type, profile, field, value, …) adds an event to the stream (limited to about `most` events, the
-- oldest are removed first) and returns its id.

local function emit(stream, most, type, profile, ...)
  return redis.call('XADD', stream, 'MAXLEN', '~', most, '*', 'type', type, 'profile', profile, ...)
end
