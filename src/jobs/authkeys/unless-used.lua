-- Included in move-record.lua for moves that must not be made while a process uses an AuthKey.
--
-- refusal(keys, now, args) returns 'used' if a live process uses the AuthKey args[1]; keys[3] has the live processes
--   (sorted set: 'process authKeyId' -> time at which its entry expires, live-workers.lua).

local function refusal(keys, now, args)
  for _, user in ipairs(redis.call('ZRANGEBYSCORE', keys[3], '(' .. now, '+inf')) do
    if string.match(user, ' (%S+)$') == args[1] then return 'used' end
  end
end
