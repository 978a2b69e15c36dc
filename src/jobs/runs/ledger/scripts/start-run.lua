-- Included in scripts that start a run: the run that started last wins, so it supersedes the pending rows of those that
-- have started before and are not over. Until it has (overlap.ts), neither it nor they make a call.
--
-- note_start(key, run) reads and changes the record (hash) at `key`, which must have its profile and, in `disjoint`,
-- the runs that share no SIM's field with it: they continue. Of the account's other runs it reads head and leases, and
-- changes the set of runs they yield to; it builds their keys (decision 010). A run cut short counts until its last
-- call in flight ends, so none of its calls follows one of this run. Profiles with one owner of quotas are an account.

local function note_start(key, run)
  local prefix = string.sub(key, 1, -#run - 1)
  local profile, disjoint = unpack(redis.call('HMGET', key, 'profile', 'disjoint'))
  local started = string.sub(prefix, 1, -2) .. 's:started'
  local function owner_of(name)
    return redis.call('HGET', string.sub(prefix, 1, -#'run:' - 1) .. 'quota-owners', name) or name
  end
  local is_disjoint = {}
  for other in string.gmatch(disjoint or '', '%S+') do is_disjoint[other] = true end
  local older = {}
  for _, other in ipairs(redis.call('SMEMBERS', started)) do
    local state, others = unpack(redis.call('HMGET', prefix .. other, 'state', 'profile'))
    local is_active = state == 'running' or state == 'paused'
    local is_cut = state == 'aborted' or state == 'cancelled'
    local is_ending = is_cut and redis.call('EXISTS', prefix .. other .. ':hands') == 1
    local is_concerned = (is_active and not is_disjoint[other]) or is_ending
    if is_concerned and (others == profile or owner_of(others) == owner_of(profile)) then
      older[#older + 1] = other
      redis.call('SADD', prefix .. other .. ':yields', run)
    elseif not is_active and not is_ending then
      redis.call('SREM', started, other)
    end
  end
  redis.call('SADD', started, run)
  redis.call('HDEL', key, 'disjoint')
  if #older > 0 then redis.call('HSET', key, 'supersedes', table.concat(older, ' ')) end
end
