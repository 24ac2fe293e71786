-- use: journal
-- provides: carry_out
-- Put before an operation on a fact, which is what a ledger keeps besides tasks, that is asked for through that ledger.
-- ARGV: what the operation wants, then the fact's name, the request's number, the epoch. Answers: elsewhere, and nothing
-- was written; of a request that was carried out before, what it answered then, or overtaken where that is forgotten. The
-- event tells the ledger that this request was carried out.
-- Keeps: requests on one fact are carried out in the order of their numbers, each once: its producer and a steward may both
-- bring it, and late.
--   asked: fact → the last request that was carried out on it. answers: request and its answer, by the request.
local EPOCH = table.remove(ARGV)
local REQUEST = tonumber(table.remove(ARGV))
local FACT = table.remove(ARGV)
local FACTS_KEPT, ANSWERS_KEPT = 10000, 1000
local LEDGERS = call('HMGET', T .. 'meta', 'ledger', 'rebuilding')
if LEDGERS[1] ~= EPOCH and LEDGERS[2] ~= EPOCH then return 'elsewhere' end
if REQUEST <= tonumber(call('ZSCORE', T .. 'asked', FACT) or '0') then
  local known = call('ZRANGEBYSCORE', T .. 'answers', REQUEST, REQUEST)[1]
  return known and cmsgpack.unpack(known)[2] or 'overtaken'
end
tell('requested', FACT, string.format('%d', REQUEST))

-- `operation`: a function that does what was asked and answers.
local function carry_out(operation)
  local answer = operation()
  call('ZADD', T .. 'asked', REQUEST, FACT)
  call('ZADD', T .. 'answers', REQUEST, cmsgpack.pack({REQUEST, answer}))
  call('ZREMRANGEBYRANK', T .. 'asked', 0, -FACTS_KEPT - 1)
  call('ZREMRANGEBYRANK', T .. 'answers', 0, -ANSWERS_KEPT - 1)
  return answer
end
