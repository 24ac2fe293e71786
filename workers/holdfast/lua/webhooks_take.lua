-- Take what is to be told by now, each for so long that nobody else tries it meanwhile.
-- KEYS: the public queue. ARGV: limit, how long (ms).
-- Answers: {ms until the next is due (-1: none), name, fields, name, fields, …}.
-- Keeps: what is taken and not done comes again: told at least once.
-- flags: allow-oom
-- use: outbox
local box = outbox()
call('DEL', T .. 'control:webhooks')
local answer = {-1}
for _, name in ipairs(call('ZRANGEBYSCORE', box.index, '-inf', NOW, 'LIMIT', 0, ARGV[1])) do
  call('ZADD', box.index, NOW + ARGV[2], name)
  call('HINCRBY', box.hash(name), 'tries', 1)
  answer[#answer + 1] = name
  answer[#answer + 1] = call('HGETALL', box.hash(name))
end
local following = call('ZRANGE', box.index, 0, 0, 'WITHSCORES')
if following[2] then answer[1] = math.max(0, math.ceil(following[2] - NOW)) end
return answer
