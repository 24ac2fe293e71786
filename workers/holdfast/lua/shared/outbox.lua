-- use: record clock limits journal
-- What is still to be told to whoever left a URL: a hash each, their names in one sorted set by when to try next.
-- A function that makes functions: few tasks have a webhook, and each function of a script costs every call of it.
local function outbox()
  local index = T .. 'webhooks'
  local function hash_of(name) return T .. 'webhook:' .. name end

  local function put(id, turn, state, url)
    local name = id .. '|' .. turn .. '|' .. state
    if call('ZCARD', index) >= OUTBOX_KEPT then return tell('webhook-dropped', id, 'the outbox is full') end
    call('HSET', hash_of(name), 'task', id, 'turn', turn, 'state', state, 'url', url, 'at', NOW, 'tries', 0)
    call('ZADD', index, NOW, name)
    if call('LLEN', T .. 'control:webhooks') == 0 then call('RPUSH', T .. 'control:webhooks', 'due') end
  end

  local function drop(name)
    call('UNLINK', hash_of(name))
    return call('ZREM', index, name) == 1
  end

  return {index = index, hash = hash_of, put = put, drop = drop}
end

local of_queue   -- its webhook, false for none, once it was looked for

-- The task has ended or asks for something: its own webhook, else the queue's.
local function tell_webhook(id, state, turn, own)
  if of_queue == nil then of_queue = call('HGET', T .. 'meta', 'webhook') end
  local url = own or of_queue
  if url then outbox().put(id, turn, state, url) end
end
