-- provides: is_first_to_accept accept_for_ledger
-- Whether what comes is accepted here first. What a ledger has accepted is only given to this Redis: see guard.
local is_first_to_accept = true
local function accept_for_ledger() is_first_to_accept = false end
