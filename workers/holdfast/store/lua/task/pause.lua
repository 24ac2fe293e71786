-- Pause a task. A waiting task is parked at once. A running task is asked to save a checkpoint and settle as suspended.
-- KEYS: the public queue. ARGV: task id, reason.
-- Answers: the state afterwards (working: it was asked), unknown or damaged.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control damage
return each_task(ARGV[1], nil, nil, pause, ARGV[2]) or 'damaged'
