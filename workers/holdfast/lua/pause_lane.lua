-- Start nothing more from a lane until it is resumed, on any host; it still accepts. What runs goes on.
-- KEYS: the public queue. ARGV: lane, reason.
-- Answers: paused, or again if it was paused before (its reason is the new one, its time stays).
-- flags: allow-oom
-- use: gates
local lane, reason = ARGV[1], ARGV[2]
local known = call('HGET', T .. 'rules', 'paused:' .. lane)
local since = known and string.match(known, '^%d+') or NOW
call('HSET', T .. 'rules', 'paused:' .. lane, since .. ' ' .. reason)
call('HSET', T .. 'closed', lane, 'paused')
call('DEL', T .. 'bell:' .. lane)
call('ZREM', T .. 'alarms', lane)
if known then return 'again' end
tell('lane-paused', lane, reason)
return 'paused'
