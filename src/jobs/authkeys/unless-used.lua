-- Included in move-record.lua for moves that must not be made while a process uses an AuthKey. Requires authkey-users.lua.
--
-- refusal(keys, now, args) returns 'used' if a live process uses the AuthKey args[1]; keys[3] has the users.

local function refusal(keys, now, args)
  for _, use in pairs(live_users(keys[3], now)) do
    if use.is_live and use.key == args[1] then return 'used' end
  end
end
