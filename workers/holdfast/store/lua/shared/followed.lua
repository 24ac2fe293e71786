-- use: ledger_standing
-- A guard: the operation behind it runs only in the Redis that a ledger follows, and only if that Redis has forgotten nothing.
-- ARGV: what the operation wants, then the ledger's epoch, then the last event that was seen.
-- Answers: elsewhere, and nothing was written.
local WITNESS = table.remove(ARGV)
local EPOCH = table.remove(ARGV)
local WORD = standing(EPOCH, WITNESS, '')
if WORD == 'lost' or WORD == 'other' then return 'elsewhere' end
