-- provides: is_first_to_accept accept_for_ledger
-- True unless a ledger has accepted the submission of this call before (see guard). A message that a ledger has accepted is never refused
-- because too many messages wait.
local is_first_to_accept = true
local function accept_for_ledger() is_first_to_accept = false end
