-- use: ledger_standing
-- Put before an operation that only a Redis may do which a ledger follows, and which has forgotten nothing.
-- ARGV: what the operation wants, then the ledger's epoch, then the last event that was seen. Answers: elsewhere, and
-- nothing was written.
local WITNESS = table.remove(ARGV)
local EPOCH = table.remove(ARGV)
local WORD = standing(EPOCH, WITNESS, '')
if WORD == 'lost' or WORD == 'other' then return 'elsewhere' end
