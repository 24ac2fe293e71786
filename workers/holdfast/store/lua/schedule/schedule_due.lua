-- The schedules that are due: a fire is to be made, or a pause ends.
-- KEYS: the public queue. ARGV: limit, the host of the caller ('' for a caller that heeds no halt), the last halt that it ignores.
-- Answers: {now (ms), ms until the next one (-1: none), id, fields, id, fields, …}; a schedule without a record has no fields. Or halted:
--       this host, or all, are to make no fires. Then the word that wakes the next caller stays for others.
-- flags: allow-oom
-- use: schedules hosts clock
if (ARGV[2] or '') ~= '' and is_halted(ARGV[2], ARGV[3]) then return 'halted' end
call('DEL', KEY.schedules_control)
local schedules = scheduling()
local ids = call('ZRANGEBYSCORE', KEY.schedules, '-inf', NOW, 'LIMIT', 0, ARGV[1])
local answer = {NOW, -1}
for _, id in ipairs(ids) do
  answer[#answer + 1] = id
  answer[#answer + 1] = schedules.all_fields(id)
end
local following = call('ZRANGEBYSCORE', KEY.schedules, '(' .. NOW, '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
if following[2] then answer[2] = math.ceil(following[2] - NOW) end
return answer
