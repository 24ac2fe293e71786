-- Deliver one more message to an existing task: it answers the task's question, or waits until the running turn has ended.
-- KEYS: the public queue. ARGV: task id, message id, digest, operation, and for one that its producer was told to be accepted its
--       lane, from which it is set aside if it is refused.
-- Answers: turn, pending, duplicate, conflict, terminal, full, or unknown.
-- Keeps: I3, I6: what is answered with turn or pending is queued, or waits with its task.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages
local id, message, digest, operation, lane = unpack(ARGV)
local verdict = answer_task(id, operation, message, digest)
if lane then refuse(verdict, id, message, operation, lane) end
return verdict
