-- Part of scripts that change something: writes the event of the change in the same step.
--
-- tell(stream, most, type, profile, field, value, …) adds an event to the stream (a Redis stream of about `most` events
-- at most, the oldest go first) and returns its id.

local function tell(stream, most, kind, profile, ...)
  return redis.call('XADD', stream, 'MAXLEN', '~', most, '*', 'type', kind, 'profile', profile, ...)
end
