-- The data that is kept beside a task, and the task's earlier turns.
-- KEYS: the public queue. ARGV: task id.
-- Answers: {fields as pairs; messages and artifacts that were added; operations and results of earlier turns}.
-- flags: no-writes, allow-oom
local id = ARGV[1]
return {call('HGETALL', KEY.about .. id), call('LRANGE', KEY.added .. id, 0, -1), call('LRANGE', KEY.history .. id, 0, -1)}
