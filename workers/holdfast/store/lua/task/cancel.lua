-- End a task that has not ended. Afterwards no settlement of it is recorded; a running handler is told.
-- KEYS: the public queue. ARGV: task id, reason.
-- Answers: the state afterwards (canceled, or the terminal state it had), damaged, or unknown: kept for a task that comes later.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control damage
return each_task(ARGV[1], nil, nil, cancel, ARGV[2]) or 'damaged'
