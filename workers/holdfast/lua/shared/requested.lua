-- use: journal
-- Put before an operation on a fact, which is what a ledger keeps besides tasks, that is asked for through that ledger.
-- ARGV: what the operation wants, then the fact's name, the request's number, the epoch. Answers: elsewhere, and nothing
-- was written. The event tells the ledger that this request was carried out: nobody carries it out again then.
local EPOCH = table.remove(ARGV)
local REQUEST = table.remove(ARGV)
local FACT = table.remove(ARGV)
local LEDGERS = call('HMGET', T .. 'meta', 'ledger', 'rebuilding')
if LEDGERS[1] ~= EPOCH and LEDGERS[2] ~= EPOCH then return 'elsewhere' end
tell('requested', FACT, REQUEST)
