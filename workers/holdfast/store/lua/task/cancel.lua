-- Cancel a task that has not ended. Afterwards no settlement of it is recorded. If a worker runs it, the worker gets a hint.
-- KEYS: the public queue. ARGV: task id, reason.
-- Answers: the state afterwards (canceled, or the terminal state that it had); damaged; or unknown: there is no such task, and the cancel
--       is kept for a while, in case the task comes later.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control damage
return each_task(ARGV[1], nil, nil, cancel, ARGV[2]) or 'damaged'
