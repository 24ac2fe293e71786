-- Cancel and delete the first tasks of a conversation. Delete the conversation once it has none.
-- KEYS: the public queue. ARGV: context id, how many tasks.
-- Answers: how many tasks are left; -1: the conversation is unknown.
-- Keeps: I3, I5, I9, I14: a task is canceled before it is deleted.
-- flags: allow-oom
-- use: task_control deletion conversations task_record
local context, limit = ARGV[1], tonumber(ARGV[2])
if call('EXISTS', conversation_of(context)) == 0 then return -1 end
for _, id in ipairs(call('ZRANGE', tasks_of(context), 0, limit - 1)) do
  if read(id, 'state')[1] then
    cancel(id, 'its conversation was cleared')
    forget({id})
  end
  forget_about(id)
end
local left = call('ZCARD', tasks_of(context))
if left == 0 then forget_conversation(context) end
return left
