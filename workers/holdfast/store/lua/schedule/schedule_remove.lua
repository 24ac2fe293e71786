-- Forget a schedule with its history. A task that it has made goes on.
-- KEYS: the public queue. ARGV: id.
-- Answers: removed, or unknown.
-- flags: allow-oom
-- use: schedules
local schedules = scheduling()
local known = call('EXISTS', schedules.hash(ARGV[1])) == 1 or call('ZSCORE', KEY.schedules, ARGV[1])
schedules.forget(ARGV[1])
return known and 'removed' or 'unknown'
