-- A page of the schedules that will be due soon, for a steward that prepares their fires; none that is due already.
-- KEYS: the public queue. ARGV: after (ms, itself not), until (ms, itself too), how many to pass over, limit.
-- Answers: {id, fields, id, fields, …}, no fields where there is no record. Between two pages the index may change: what is passed over then is not prepared.
-- flags: no-writes, allow-oom
-- use: schedules
local schedules, answer = scheduling(), {}
for _, id in ipairs(call('ZRANGEBYSCORE', KEY.schedules, '(' .. ARGV[1], ARGV[2], 'LIMIT', ARGV[3], ARGV[4])) do
  answer[#answer + 1] = id
  answer[#answer + 1] = schedules.all_fields(id)
end
return answer
