-- Note in its conversation a task that is about to be submitted, or one more message for it.
-- KEYS: the public queue. ARGV: task id, context id, owner ('' for nobody), message.
-- Answers: noted; foreign: the conversation or the task belongs to another owner; or the state in which the task has ended.
-- Keeps: the caller that opens a conversation owns it. A task stays in its first conversation.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: conversations clock task_record
local id, context, owner, message = unpack(ARGV)
local about = about_of(id)
local state = read(id, 'state')[1]
if state and TERMINAL[state] then return state end
if is_noted(id) and TERMINAL[noted_state(id)] then return noted_state(id) end
local opened = call('HGET', conversation_of(context), 'owner')
local noted = call('HGET', about, 'owner')
if (opened and opened ~= owner) or (noted and noted ~= owner) then return 'foreign' end
open_conversation(context, owner)
if call('HSETNX', about, 'context', context) == 1 then
  call('HSET', about, 'owner', owner, 'at', NOW)
  add_last(tasks_of(context), id)
  call('ZADD', KEY.abouts, NOW, id)
end
if not state then note_message(id, message) end
sweep()
return 'noted'
