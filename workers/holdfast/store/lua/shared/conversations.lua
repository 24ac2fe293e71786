-- use: task_record clock
-- provides: about_of conversation_of tasks_of open_conversation forget_conversation is_noted noted_state write_noted
-- provides: note_message end_note forget_about sweep
-- What is kept of conversations and beside their tasks, for applications that keep both in one place. A task's is kept as
-- long as its record, a conversation's as long as it has tasks; who notes a task sweeps a few of those that are gone.
local LOOK_AGAIN = 86400000   -- ms after which it is looked whether a task is still there
local LOOK_AGAIN_NOTED = 60000 -- ms after which it is looked whether a noted task was submitted by somebody else
local SWEPT = 4               -- looked at in passing

local function about_of(id) return T .. 'about:' .. id end
local function conversation_of(context) return T .. 'conversation:' .. context end
local function tasks_of(context) return conversation_of(context) .. ':tasks' end

-- Who opens it owns it.
local function open_conversation(context, owner)
  if call('HSETNX', conversation_of(context), 'owner', owner) == 0 then return end
  call('ZADD', T .. 'conversations', NOW, context)
  call('ZADD', T .. 'owned:' .. owner, NOW, context)
end

local function forget_conversation(context)
  local owner = call('HGET', conversation_of(context), 'owner')
  call('UNLINK', conversation_of(context), tasks_of(context))
  call('ZREM', T .. 'conversations', context)
  if owner then call('ZREM', T .. 'owned:' .. owner, context) end
end

-- A task is noted while its message is kept here and it has no record: no worker has it, and its state is what its
-- application writes.
local function is_noted(id)
  return call('HEXISTS', about_of(id), 'message') == 1 and not read(id, 'state')[1]
end

local function noted_state(id) return call('HGET', about_of(id), 'state') or 'submitted' end

local function write_noted(id, state)
  call('HSET', about_of(id), 'state', state, 'changed', NOW)
  call('ZADD', T .. 'noted', NOW, id)
  call('ZADD', T .. 'abouts', NOW, id)
end

local function as_added(message) return '{"message":' .. message .. '}' end

-- The first message is a field of its own, further ones go to what was added. One that comes again is noted once.
local function note_message(id, message)
  local first = call('HGET', about_of(id), 'message')
  if not first then
    call('HSET', about_of(id), 'message', message)
  elseif first ~= message and call('LINDEX', T .. 'added:' .. id, -1) ~= as_added(message) then
    call('RPUSH', T .. 'added:' .. id, as_added(message))
  end
  write_noted(id, 'submitted')
end

-- The task was submitted, and shows its messages itself. Where more than one was noted all are kept with what was added:
-- it may have been submitted with any of them.
local function end_note(id)
  local message = call('HGET', about_of(id), 'message')
  if message and call('EXISTS', T .. 'added:' .. id) == 1 then call('LPUSH', T .. 'added:' .. id, as_added(message)) end
  call('HDEL', about_of(id), 'message', 'state', 'changed')
  call('ZREM', T .. 'noted', id)
end

local function forget_about(id)
  local context = call('HGET', about_of(id), 'context')
  call('UNLINK', about_of(id), T .. 'added:' .. id, T .. 'feedback:' .. id)
  call('ZREM', T .. 'abouts', id)
  call('ZREM', T .. 'noted', id)
  call('HDEL', T .. 'pushes', id)
  if not context then return end
  call('ZREM', tasks_of(context), id)
  if call('EXISTS', tasks_of(context)) == 0 then forget_conversation(context) end
end

local function sweep_noted()
  local noted = T .. 'noted'
  for _, id in ipairs(call('ZRANGEBYSCORE', noted, '-inf', NOW - LOOK_AGAIN_NOTED, 'LIMIT', 0, SWEPT)) do
    if is_noted(id) then call('ZADD', noted, NOW, id) else end_note(id) end
  end
end

local function sweep()
  sweep_noted()
  local abouts = T .. 'abouts'
  for _, id in ipairs(call('ZRANGEBYSCORE', abouts, '-inf', NOW - LOOK_AGAIN, 'LIMIT', 0, SWEPT)) do
    if call('EXISTS', T .. 'task:' .. id) == 1 then call('ZADD', abouts, NOW, id) else forget_about(id) end
  end
end
