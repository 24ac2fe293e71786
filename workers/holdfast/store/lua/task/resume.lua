-- Resume a parked task.
-- KEYS: the public queue. ARGV: task id, reason.
-- Answers: the state afterwards, unknown or damaged.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control damage
return each_task(ARGV[1], nil, nil, resume, ARGV[2]) or 'damaged'
