-- use: task_record clock
-- provides: about_of conversation_of tasks_of add_last open_conversation forget_conversation is_noted noted_state write_noted
-- provides: note_message end_note forget_about sweep
-- Conversations, and the data that applications keep beside tasks. The data of a task is kept as long as its record, and a conversation as
-- long as it has tasks. Each call that notes a task also removes the leftovers of a few tasks that are gone.
local LOOK_AGAIN = 86400000   -- ms between two looks whether a task still exists
local LOOK_AGAIN_NOTED = 60000 -- ms between two looks whether another caller has submitted a noted task
local SWEPT = 4               -- tasks that one sweep looks at

local function about_of(id) return KEY.about .. id end
local function conversation_of(context) return KEY.conversation .. context end
local function tasks_of(context) return conversation_of(context) .. NAME.of_tasks end

-- Adds an id after all others, even if several come within a millisecond.
local function add_last(key, id)
  local last = call('ZRANGE', key, -1, -1, 'WITHSCORES')[2]
  call('ZADD', key, last and string.format('%.3f', math.max(NOW, last + 0.001)) or NOW, id)
end

-- Opens a conversation. Its first owner stays its owner.
local function open_conversation(context, owner)
  if call('HSETNX', conversation_of(context), 'owner', owner) == 0 then return end
  add_last(KEY.conversations, context)
  add_last(KEY.owned .. owner, context)
end

local function forget_conversation(context)
  local owner = call('HGET', conversation_of(context), 'owner')
  call('UNLINK', conversation_of(context), tasks_of(context))
  call('ZREM', KEY.conversations, context)
  if owner then call('ZREM', KEY.owned .. owner, context) end
end

-- True if a task is noted: its message is kept here, and it has no record. It was not submitted yet, so its application sets its state.
local function is_noted(id)
  return call('HEXISTS', about_of(id), 'message') == 1 and not read(id, 'state')[1]
end

local function noted_state(id) return call('HGET', about_of(id), 'state') or 'submitted' end

local function write_noted(id, state)
  call('HSET', about_of(id), 'state', state, 'changed', NOW)
  call('ZADD', KEY.noted, NOW, id)
  call('ZADD', KEY.abouts, NOW, id)
end

local function as_added(message) return '{"message":' .. message .. '}' end

-- Notes a message. The first message is a field; further ones are added to `added`. A message that comes again is noted once.
local function note_message(id, message)
  local first = call('HGET', about_of(id), 'message')
  if not first then
    call('HSET', about_of(id), 'message', message)
  elseif first ~= message and call('LINDEX', KEY.added .. id, -1) ~= as_added(message) then
    call('RPUSH', KEY.added .. id, as_added(message))
  end
  write_noted(id, 'submitted')
end

-- Ends the note of a task that was submitted: the task has its message itself now. If several messages were noted, all are kept in `added`,
-- because the task may have been submitted with any of them.
local function end_note(id)
  local message = call('HGET', about_of(id), 'message')
  if message and call('EXISTS', KEY.added .. id) == 1 then call('LPUSH', KEY.added .. id, as_added(message)) end
  call('HDEL', about_of(id), 'message', 'state', 'changed')
  call('ZREM', KEY.noted, id)
end

local function forget_about(id)
  local context = call('HGET', about_of(id), 'context')
  call('UNLINK', about_of(id), KEY.added .. id, KEY.feedback .. id)
  call('ZREM', KEY.abouts, id)
  call('ZREM', KEY.noted, id)
  call('HDEL', KEY.pushes, id)
  if not context then return end
  call('ZREM', tasks_of(context), id)
  if call('EXISTS', tasks_of(context)) == 0 then forget_conversation(context) end
end

local function sweep_noted()
  local noted = KEY.noted
  for _, id in ipairs(call('ZRANGEBYSCORE', noted, '-inf', NOW - LOOK_AGAIN_NOTED, 'LIMIT', 0, SWEPT)) do
    if is_noted(id) then call('ZADD', noted, NOW, id) else end_note(id) end
  end
end

local function sweep()
  sweep_noted()
  local abouts = KEY.abouts
  for _, id in ipairs(call('ZRANGEBYSCORE', abouts, '-inf', NOW - LOOK_AGAIN, 'LIMIT', 0, SWEPT)) do
    if call('EXISTS', KEY.task .. id) == 1 then call('ZADD', abouts, NOW, id) else forget_about(id) end
  end
end
