-- Pause a schedule: from now on it makes no fire, until it is resumed or a moment has come.
-- KEYS: the public queue. ARGV: id, reason, until (ms, '' for ever).
-- Answers: paused, unknown, or damaged: its record cannot be read.
-- flags: allow-oom
-- use: schedules damage
local schedules, id = scheduling(), ARGV[1]
if call('EXISTS', schedules.hash(id)) == 0 then return 'unknown' end
return attempt(schedules.pause, id, ARGV[2], ARGV[3]) and 'paused' or 'damaged'
