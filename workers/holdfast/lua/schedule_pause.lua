-- Pause a schedule: from now on it makes no fire, until it is resumed or a moment has come.
-- KEYS: the public queue. ARGV: id, reason, until (ms, '' for ever).
-- Answers: paused, or unknown.
-- flags: allow-oom
-- use: scheduling
local id = ARGV[1]
if call('EXISTS', schedule_of(id)) == 0 then return 'unknown' end
call('HSET', schedule_of(id), 'paused', ARGV[2], 'until', ARGV[3])
index_schedule(id)
chronicle(id, 'paused', '', '', ARGV[2])
return 'paused'
