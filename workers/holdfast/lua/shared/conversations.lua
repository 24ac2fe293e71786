-- use: record clock
-- What is kept of conversations and beside their tasks, for applications that keep both in one place. A task's is kept as
-- long as its record, a conversation's as long as it has tasks; who notes a task sweeps a few of those that are gone.
local LOOK_AGAIN = 86400000   -- ms after which it is looked whether a task is still there
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

local function forget_about(id)
  local context = call('HGET', about_of(id), 'context')
  call('UNLINK', about_of(id), T .. 'added:' .. id, T .. 'feedback:' .. id)
  call('ZREM', T .. 'abouts', id)
  call('HDEL', T .. 'pushes', id)
  if not context then return end
  call('ZREM', tasks_of(context), id)
  if call('EXISTS', tasks_of(context)) == 0 then forget_conversation(context) end
end

local function sweep()
  local abouts = T .. 'abouts'
  for _, id in ipairs(call('ZRANGEBYSCORE', abouts, '-inf', NOW - LOOK_AGAIN, 'LIMIT', 0, SWEPT)) do
    if call('EXISTS', T .. 'task:' .. id) == 1 then call('ZADD', abouts, NOW, id) else forget_about(id) end
  end
end
