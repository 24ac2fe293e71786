-- use: ledger_standing
-- A guard: the operation behind it runs only in the Redis that the ledger follows, and only if this Redis has lost nothing.
-- ARGV: the arguments of the operation, the ledger's epoch, the last event that the ledger has seen.
-- Answers: elsewhere: nothing was written. Else the operation answers.
local WITNESS = table.remove(ARGV)
local EPOCH = table.remove(ARGV)
local WORD = standing(EPOCH, WITNESS, '')
if WORD == 'lost' or WORD == 'other' then return 'elsewhere' end
