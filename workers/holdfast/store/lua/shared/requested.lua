-- use: journal
-- provides: carry_out
-- A guard: the operation behind it changes a setting that a ledger keeps (a `fact`: a schedule, the bounds, the quiet hosts, the queue's
-- webhook), and was requested through that ledger.
-- ARGV: the arguments of the operation, the name of the fact, the number of the request, the ledger's epoch.
-- Answers: elsewhere: this Redis does not follow that ledger, and nothing was written. For a request that has run before: its first answer,
--       or overtaken if this answer was forgotten. Else the operation answers, and an event tells the ledger that the request has run.
-- Keeps: requests for one fact run in the order of their numbers, each once, although a producer and a steward may both send a request, and
--       late.
--       asked: fact → the last request that was carried out on it. answers: each request with its answer, by number.
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

-- Runs `operation`, a function that carries out the request and answers, unless the request has run before.
local function carry_out(operation)
  local answer = operation()
  call('ZADD', KEY.asked, REQUEST, FACT)
  call('ZADD', KEY.answers, REQUEST, cmsgpack.pack({REQUEST, answer}))
  call('ZREMRANGEBYRANK', KEY.asked, 0, -FACTS_KEPT - 1)
  call('ZREMRANGEBYRANK', KEY.answers, 0, -ANSWERS_KEPT - 1)
  return answer
end
