-- Note that foreign entries were pushed at the front of a lane, from which it is served.
-- KEYS: the public queue. ARGV: lane, how many were seen.
-- Answers: how many were seen since the lane's end was last changed.
-- Keeps: `wrong_end` holds `<count> <when the last were seen (ms)>` of such lanes.
-- flags: allow-oom
-- use: clock
local lane, seen = ARGV[1], tonumber(ARGV[2])
local known = call('HGET', T .. 'wrong_end', lane)
local count = seen + (known and tonumber(string.match(known, '^%d+')) or 0)
call('HSET', T .. 'wrong_end', lane, count .. ' ' .. NOW)
return count
