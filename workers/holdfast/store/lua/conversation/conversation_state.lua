-- Write the state of a task that is noted and not submitted. No worker has such a task, so its application may write any state.
-- KEYS: the public queue. ARGV: task id, state, then the states from which this is allowed (none: from any).
-- Answers: written; kept: the task is in another state, or has ended; or unnoted: the task was never noted, or was submitted.
-- Keeps: a noted task that has ended stays so. A noted task that was canceled is canceled again if it is submitted afterwards.
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
