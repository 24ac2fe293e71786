-- Submit the tasks whose time has come.
-- KEYS: the public queue. ARGV: limit.
-- Answers: {how many, ms until the next is due (-1: nothing is delayed)}.
-- Keeps: I3.
-- flags: allow-oom
-- use: record lane journal
local ids = call('ZRANGEBYSCORE', T .. 'due', '-inf', NOW, 'LIMIT', 0, tonumber(ARGV[1]))
for _, id in ipairs(ids) do
  call('ZREM', T .. 'due', id)
  to_tail(id)
  note('promoted', id)
end
call('DEL', T .. 'control:steward')
local first = call('ZRANGE', T .. 'due', 0, 0, 'WITHSCORES')
return {#ids, first[2] and math.max(0, first[2] - NOW) or -1}
