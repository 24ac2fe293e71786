-- Forget a schedule with its history. A task that it has made goes on.
-- KEYS: the public queue. ARGV: id.
-- Answers: removed, or unknown.
-- flags: allow-oom
-- use: scheduling
local known = call('EXISTS', schedule_of(ARGV[1])) == 1
forget_schedule(ARGV[1])
return known and 'removed' or 'unknown'
