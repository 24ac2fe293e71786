-- Note that foreign entries were pushed at the front of a lane, where workers take entries. Every steward sees the same entries, so only
-- one steward counts. Another steward takes over when this one has counted nothing for a minute.
-- KEYS: the public queue. ARGV: lane, how many entries the steward saw, its id, 1 if the front was the tail of the list when it looked.
-- Answers: the count since the lane's end was changed, or since a day passed without such a push; 0: the front has become the other end
--       since the steward looked.
-- Keeps: the hash `wrong_end` has for each such lane `<count> <when the last were seen (ms)> <steward that counts>`.
-- flags: allow-oom
-- use: clock lane constants
local lane, seen, steward = ARGV[1], tonumber(ARGV[2]), ARGV[3]
if is_turned(lane) ~= (ARGV[4] == '1') then return 0 end
local count, at, by = string.match(call('HGET', KEY.wrong_end, lane) or '', '^(%d+) (%d+) ?(.*)$')
count, at = tonumber(count or '0'), tonumber(at or '0')
if NOW - at > WRONG_END_KEPT_MS then count, by = 0, nil end
if by and by ~= steward and NOW - at <= COUNTS_FOR_MS then return count end
call('HSET', KEY.wrong_end, lane, string.format('%.0f %.0f %s', count + seen, NOW, steward))
return count + seen
