-- Whether what comes is accepted here first. What a ledger has accepted is only given to this Redis: see guard.
local is_first_to_accept = true
