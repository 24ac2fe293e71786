-- Note that foreign entries were pushed at the front of a lane, from which it is served. Every steward sees the same ones:
-- so one counts, and another in its place only when that one has counted nothing for a minute.
-- KEYS: the public queue. ARGV: lane, how many were seen, id of the steward, 1 if the front was the tail when it looked.
-- Answers: how many were counted since the lane's end was changed or since a day without any; 0 where the front is now the
--          other end.
-- Keeps: `wrong_end` holds `<count> <when the last were seen (ms)> <steward that counts>` of such lanes.
-- flags: allow-oom
-- use: clock lane limits
local lane, seen, steward = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if is_turned(lane) ~= (ARGV[4] == '1') then return 0 end
local count, at, by = string.match(call('HGET', KEY.wrong_end, lane) or '', '^(%d+) (%d+) ?(.*)$')
count, at = tonumber(count or '0'), tonumber(at or '0')
if NOW - at > WRONG_END_KEPT_MS then count, by = 0, nil end
if by and by ~= steward and NOW - at <= COUNTS_FOR_MS then return count end
call('HSET', KEY.wrong_end, lane, string.format('%.0f %.0f %s', count + seen, NOW, steward))
return count + seen
