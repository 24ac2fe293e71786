-- Park a task: a waiting one at once, a running one is asked to save a checkpoint and settle as suspended.
-- KEYS: the public queue. ARGV: task id, reason.
-- Answers: the state afterwards (working: asked), unknown or damaged.
-- Keeps: I1, I3, I5, I9.
-- flags: allow-oom
-- use: task_control damage
return each_task(ARGV[1], nil, nil, pause, ARGV[2]) or 'damaged'
