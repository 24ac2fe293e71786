-- A page of the schedules that will be due soon and are not due yet, for a steward that prepares their fires.
-- KEYS: the public queue. ARGV: after (ms, exclusive), until (ms, inclusive), how many to skip, limit.
-- Answers: {id, fields, id, fields, …}; a schedule without a record has no fields. If the index changes between two pages, a schedule may be
--       skipped: its fire is then made without preparation.
-- flags: no-writes, allow-oom
-- use: schedules
local schedules, answer = scheduling(), {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEY.schedules, '(' .. ARGV[1], ARGV[2], 'LIMIT', ARGV[3], ARGV[4])) do
  answer[#answer + 1] = id
  answer[#answer + 1] = schedules.all_fields(id)
end
return answer
