-- The schedules that something is to be done about by now.
-- KEYS: the public queue. ARGV: limit.
-- Answers: {now (ms), ms until the next one (-1: none), id, fields, id, fields, …}.
-- flags: allow-oom
-- use: schedules
call('DEL', T .. 'control:schedules')
local schedules = scheduling()
local ids = call('ZRANGEBYSCORE', T .. 'schedules', '-inf', NOW, 'LIMIT', 0, ARGV[1])
local answer = {NOW, -1}
for _, id in ipairs(ids) do
  answer[#answer + 1] = id
  answer[#answer + 1] = call('HGETALL', schedules.hash(id))
end
local following = call('ZRANGEBYSCORE', T .. 'schedules', '(' .. NOW, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if following[2] then answer[2] = math.ceil(following[2] - NOW) end
return answer
