-- Write the state of a task that is noted and not submitted: no worker has it, so its application may write any.
-- KEYS: the public queue. ARGV: task id, state, then the states from which (none: from any).
-- Answers: written; kept (it is in another state, or has ended); or unnoted: nobody noted it, or it was submitted.
-- Keeps: a noted task that has ended stays so; one that is canceled is canceled, too, if it is submitted afterwards.
-- flags: allow-oom
-- use: conversations messages task_record
local id, state = ARGV[1], ARGV[2]
if not is_noted(id) then return 'unnoted' end
local before, wanted = noted_state(id), #ARGV == 2
for i = 3, #ARGV do wanted = wanted or ARGV[i] == before end
if not wanted or (TERMINAL[before] and before ~= state) then return 'kept' end
if state == 'canceled' then cancel_early(id) end
write_noted(id, state)
return 'written'
