-- The schedules that are due: a fire is to be made, or a pause ends.
-- KEYS: the public queue. ARGV: limit, the host of who asks ('' for one that no halt is for), the last halt that counts no more
--       for it.
-- Answers: {now (ms), ms until the next one (-1: none), id, fields, id, fields, …}; no fields where there is no record. Or halted:
--       its host, or all, were told to make no fires; what wakes others stays where it is.
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
