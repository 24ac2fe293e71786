-- provides: is_first_to_accept accept_for_ledger
-- True while this call accepts something for the first time; false when a ledger has accepted it before (see guard).
local is_first_to_accept = true
local function accept_for_ledger() is_first_to_accept = false end
