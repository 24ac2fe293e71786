-- A page of the schedules that something is to be done about soon, for who prepares it: none that is due already.
-- KEYS: the public queue. ARGV: after (ms, itself not), until (ms, itself too), how many to pass over, limit.
-- Answers: {id, fields, id, fields, …}. Between two pages the index may change: what is passed over then is not prepared.
-- flags: no-writes, allow-oom
-- use: schedules
local schedules, answer = scheduling(), {}
for _, id in ipairs(call('ZRANGEBYSCORE', T .. 'schedules', '(' .. ARGV[1], ARGV[2], 'LIMIT', ARGV[3], ARGV[4])) do
  answer[#answer + 1] = id
  answer[#answer + 1] = call('HGETALL', schedules.hash(id))
end
return answer
