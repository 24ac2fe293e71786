-- use: journal
-- provides: carry_out
-- A guard: the operation behind it changes a setting that a ledger keeps (a `fact`: schedules, bounds, quiet hosts, the queue's
-- webhook) and was requested through that ledger.
-- ARGV: what the operation wants, then the fact's name, the request's number, the epoch. Answers: elsewhere, and nothing was
-- written; for a request that has run before, its answer then, or overtaken if that is forgotten. The event tells the ledger
-- that this request has run.
-- Keeps: requests on one fact run in the order of their numbers, each once, though a producer and a steward may both send it,
-- and late.
--   asked: fact → the last request that was carried out on it. answers: request and its answer, by the request.
local EPOCH = table.remove(ARGV)
local REQUEST = tonumber(table.remove(ARGV))
local FACT = table.remove(ARGV)
local FACTS_KEPT, ANSWERS_KEPT = 10000, 1000
local LEDGERS = call('HMGET', KEY.meta, 'ledger', 'rebuilding')
if LEDGERS[1] ~= EPOCH and LEDGERS[2] ~= EPOCH then return 'elsewhere' end
if REQUEST <= tonumber(call('ZSCORE', KEY.asked, FACT) or '0') then
  local known = call('ZRANGEBYSCORE', KEY.answers, REQUEST, REQUEST)[1]
  return known and cmsgpack.unpack(known)[2] or 'overtaken'
end
tell('requested', FACT, string.format('%d', REQUEST))

-- `operation`: a function that does what was asked and answers.
local function carry_out(operation)
  local answer = operation()
  call('ZADD', KEY.asked, REQUEST, FACT)
  call('ZADD', KEY.answers, REQUEST, cmsgpack.pack({REQUEST, answer}))
  call('ZREMRANGEBYRANK', KEY.asked, 0, -FACTS_KEPT - 1)
  call('ZREMRANGEBYRANK', KEY.answers, 0, -ANSWERS_KEPT - 1)
  return answer
end
