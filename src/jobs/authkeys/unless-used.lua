-- Included in move-record.lua for moves that must not be made while a process uses an AuthKey. Requires users.lua before it.
--
-- refusal(keys, now, args) returns 'used' if a live process uses the AuthKey args[1]; keys[3] has the users (users.lua).

local function refusal(keys, now, args)
  if is_used(keys[3], now, args[1]) then return 'used' end
end
