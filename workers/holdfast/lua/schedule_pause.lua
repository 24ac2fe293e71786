-- Pause a schedule: from now on it makes no fire, until it is resumed or a moment has come.
-- KEYS: the public queue. ARGV: id, reason, until (ms, '' for ever).
-- Answers: paused, or unknown.
-- flags: allow-oom
-- use: scheduling
local schedules, id = scheduling(), ARGV[1]
if call('EXISTS', schedules.hash(id)) == 0 then return 'unknown' end
call('HSET', schedules.hash(id), 'paused', ARGV[2], 'until', ARGV[3])
schedules.index(id)
schedules.chronicle(id, 'paused', '', '', ARGV[2])
return 'paused'
