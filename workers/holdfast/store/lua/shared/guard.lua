-- use: acceptance
-- A guard: the operation behind it was requested through a ledger. It runs only in the Redis that this ledger follows.
-- ARGV: the arguments of the operation, then the ledger's epoch. Answers: elsewhere: nothing was written. Else the operation answers.
accept_for_ledger()
local EPOCH = table.remove(ARGV)
if call('HGET', KEY.meta, 'ledger') ~= EPOCH then return 'elsewhere' end
