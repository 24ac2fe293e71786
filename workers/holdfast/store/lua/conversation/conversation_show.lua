-- What is kept beside a task, and what was said in its earlier turns.
-- KEYS: the public queue. ARGV: task id.
-- Answers: {fields as pairs, what was added, operations and results of earlier turns}.
-- flags: no-writes, allow-oom
local id = ARGV[1]
return {call('HGETALL', T .. 'about:' .. id), call('LRANGE', T .. 'added:' .. id, 0, -1), call('LRANGE', T .. 'history:' .. id, 0, -1)}
