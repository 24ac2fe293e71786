-- List the webhooks that wait, the next to be tried first.
-- KEYS: the public queue. ARGV: how many to pass over, limit.
-- Answers: {the webhook of the queue ('': none), how many wait, name, when it is due (ms), fields, name, …}; no fields where the
--           record is no hash.
-- flags: no-writes, allow-oom
local answer = {call('HGET', KEY.meta, 'webhook') or '', call('ZCARD', KEY.webhooks)}
local names = call('ZRANGE', KEY.webhooks, ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
for i = 1, #names, 2 do
  local fields = redis.pcall('HGETALL', KEY.webhook .. names[i])
  answer[#answer + 1] = names[i]
  answer[#answer + 1] = math.floor(names[i + 1])
  answer[#answer + 1] = fields.err and {} or fields
end
return answer
