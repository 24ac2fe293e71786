-- List the waiting webhooks, the next to be tried first.
-- KEYS: the public queue. ARGV: how many to skip, limit, the name of the only webhook to list ('' for all).
-- Answers: {the queue's webhook ('': none), how many webhooks wait, then for each: name, when it is due (ms), fields}. The fields are empty
--       if the record is no hash.
-- flags: no-writes, allow-oom
local answer = {call('HGET', KEY.meta, 'webhook') or '', call('ZCARD', KEY.webhooks)}
local due = ARGV[3] ~= '' and call('ZSCORE', KEY.webhooks, ARGV[3])
local names = due and {ARGV[3], due} or {}
if ARGV[3] == '' then names = call('ZRANGE', KEY.webhooks, ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES') end
for i = 1, #names, 2 do
  local fields = redis.pcall('HGETALL', KEY.webhook .. names[i])
  answer[#answer + 1] = names[i]
  answer[#answer + 1] = math.floor(names[i + 1])
  answer[#answer + 1] = fields.err and {} or fields
end
return answer
