-- use: acceptance
-- Put before an operation that is asked for through a ledger: only in the Redis that this ledger follows.
-- ARGV: what the operation wants, then the ledger's epoch. Answers: elsewhere, and nothing was written.
accept_for_ledger()
local EPOCH = table.remove(ARGV)
if call('HGET', T .. 'meta', 'ledger') ~= EPOCH then return 'elsewhere' end
