-- Included in move-record.lua for moves that depend on nothing but the record.
--
-- refusal(keys, now, args) returns nil.

local function refusal() end
