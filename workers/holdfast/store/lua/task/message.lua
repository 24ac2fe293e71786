-- Deliver one more message to an existing task. The message answers the task's question, or waits until the running turn has ended.
-- KEYS: the public queue. ARGV: task id, message id, digest, operation; and for a message whose producer was told that it is accepted: its
--       lane. If the task refuses such a message, it is set aside under this lane.
-- Answers: turn, pending, duplicate, conflict, terminal, full, or unknown.
-- Keeps: I3, I6: a message that is answered with turn or pending is queued, or waits with its task.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages
local id, message, digest, operation, lane = unpack(ARGV)
local verdict = answer_task(id, operation, message, digest)
if lane then refuse(verdict, id, message, operation, lane) end
return verdict
