-- The record of a schedule.
-- KEYS: the public queue. ARGV: id.
-- Answers: its fields as pairs; empty for an unknown schedule; gone: the index has the schedule, but there is no record.
-- flags: no-writes, allow-oom
-- use: schedules
local fields = scheduling().all_fields(ARGV[1])
if #fields == 0 and call('ZSCORE', KEY.schedules, ARGV[1]) then return 'gone' end
return fields
