-- Cancel a task if it is in one of these states (see cancel).
-- KEYS: the public queue. ARGV: task id, reason, states.
-- Answers: 1 if this call has canceled it, else 0.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control task_record damage
local state = read(ARGV[1], 'state')[1]
for i = 3, #ARGV do
  if state == ARGV[i] then return each_task(ARGV[1], nil, nil, cancel, ARGV[2]) == 'canceled' and not TERMINAL[state] and 1 or 0 end
end
return 0
