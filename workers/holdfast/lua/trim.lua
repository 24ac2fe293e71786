-- Delete tasks that ended long enough ago, in bounded steps.
-- KEYS: the public queue. ARGV: keep (ms), limit.
-- Answers: how many were deleted.
-- Keeps: I6, I14: nothing of a deleted task stays behind.
-- flags: allow-oom
-- use: clock forgetting
return forget(call('ZRANGEBYSCORE', T .. 'finished', '-inf', NOW - tonumber(ARGV[1]), 'LIMIT', 0, tonumber(ARGV[2])))
