-- Delete tasks that ended long enough ago, in bounded steps.
-- KEYS: the public queue. ARGV: keep (ms), limit, a moment (ms) that they must have ended before ('' for none).
-- Answers: how many were deleted; the limit where there is more to delete.
-- Keeps: I6, I14: nothing of a deleted task stays behind.
-- flags: allow-oom
-- use: clock forgetting
local until_then = NOW - tonumber(ARGV[1])
if ARGV[3] ~= '' then until_then = math.min(until_then, tonumber(ARGV[3]) - 1) end
local limit = tonumber(ARGV[2])
local forgotten, more = forget(call('ZRANGEBYSCORE', T .. 'finished', '-inf', until_then, 'LIMIT', 0, limit))
return more and limit or forgotten
