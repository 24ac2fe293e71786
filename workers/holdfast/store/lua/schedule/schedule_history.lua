-- The history of a schedule: the outcome of each of its fires.
-- KEYS: the public queue. ARGV: id, limit.
-- Answers: lines, the newest last.
-- flags: no-writes, allow-oom
-- use: schedules
return scheduling().lines(ARGV[1], tonumber(ARGV[2]))
