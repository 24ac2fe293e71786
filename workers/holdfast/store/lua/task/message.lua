-- Deliver one more message to an existing task: it answers the task's question, or waits until the running turn has ended.
-- KEYS: the public queue. ARGV: task id, message id, digest, operation.
-- Answers: turn, pending, duplicate, conflict, terminal, full, or unknown.
-- Keeps: I3, I6: what is answered with turn or pending is queued, or waits with its task.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages
local id, message, digest, operation = unpack(ARGV)
return answer_task(id, operation, message, digest)
