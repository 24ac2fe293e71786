-- Submit the tasks whose time has come.
-- KEYS: the public queue. ARGV: limit.
-- Answers: {how many, ms until the next is due (-1: nothing is delayed)}.
-- Keeps: I3.
-- flags: allow-oom
-- use: promoting
local promoted = promote(tonumber(ARGV[1]))
call('DEL', T .. 'control:steward')
local first = call('ZRANGE', T .. 'due', 0, 0, 'WITHSCORES')
return {promoted, first[2] and math.max(0, first[2] - NOW) or -1}
