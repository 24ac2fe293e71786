-- use: task_record clock limits journal
-- provides: outbox tell_webhook tell_working
-- Webhooks that are not delivered yet: a hash each, and their names in one sorted set by when to try next.
-- A function that makes functions: few tasks have a webhook, and each function of a script costs every call of it.
local function outbox()
  local index = KEY.webhooks
  local function name_of(id, turn, state) return id .. '|' .. turn .. '|' .. state end
  local function hash_of(name) return KEY.webhook .. name end

  -- A steward that waits for webhooks to be due looks again.
  local function wake_up()
    if call('LLEN', KEY.webhooks_control) == 0 then call('RPUSH', KEY.webhooks_control, 'due') end
  end

  local function put(id, turn, state, url, at)
    local name = name_of(id, turn, state)
    if call('ZCARD', index) >= OUTBOX_KEPT then return tell('webhook-dropped', id, 'the outbox is full') end
    call('HSET', hash_of(name), 'task', id, 'turn', turn, 'state', state, 'url', url, 'at', at or NOW, 'tries', 0)
    call('ZADD', index, NOW, name)
    wake_up()
  end

  -- The webhook of a turn that goes on tells of its latest progress. Where one waits already it keeps its attempts and when it is tried
  -- next: a URL that does not answer is tried less and less often.
  local function put_latest(id, turn, state, url)
    local name = name_of(id, turn, state)
    if not call('ZSCORE', index, name) then return put(id, turn, state, url) end
    redis.pcall('HSET', hash_of(name), 'url', url, 'at', NOW)
  end

  -- Has a webhook that was put again since this moment tried at once. Answers whether there is one.
  local function try_later_one(name, at)
    local latest = at ~= '' and redis.pcall('HGET', hash_of(name), 'at')
    if type(latest) ~= 'string' or latest == at then return false end
    call('HSET', hash_of(name), 'tries', 0)
    call('ZADD', index, NOW, name)
    wake_up()
    return true
  end

  local function drop(name)
    call('UNLINK', hash_of(name))
    return call('ZREM', index, name) == 1
  end

  -- The webhooks of a task that wait: name, turn, state, URL and moment of each.
  local function of(id)
    local found = {}
    local function add(turn, state)
      local name = name_of(id, turn, state)
      local r = call('HMGET', hash_of(name), 'url', 'at')
      if r[1] then for _, word in ipairs({name, tostring(turn), state, r[1], r[2]}) do found[#found + 1] = word end end
    end
    local r = read(id, 'turn', 'state')
    for turn = 1, tonumber(r[1]) do
      add(turn, 'input-required')
      add(turn, 'auth-required')
      add(turn, 'working')
    end
    if TERMINAL[r[2]] then add(r[1], r[2]) end
    return found
  end

  -- The webhooks of a task that wait for one URL wait for the other, or no more if that is ''.
  local function move(id, known, url)
    local found = of(id)
    for i = 1, #found, 5 do
      if found[i + 3] == known then
        if url == '' then drop(found[i]) else call('HSET', hash_of(found[i]), 'url', url) end
      end
    end
  end

  return {index = index, hash = hash_of, put = put, put_latest = put_latest, try_later_one = try_later_one, wake_up = wake_up, drop = drop, of = of,
    move = move}
end

local of_queue   -- the queue's webhook; false for none, nil before the first look

-- Puts the webhook of a task that has ended or asks for something into the outbox: its own URL, else the queue's.
local function tell_webhook(id, state, turn, own)
  if of_queue == nil then of_queue = call('HGET', KEY.meta, 'webhook') end
  local url = own or of_queue
  if url then outbox().put(id, turn, state, url) end
end

-- The same of a task that works, or has come further: for clients of the agent, whose settings it has. A webhook is not told of it.
local function tell_working(id, turn, own)
  if own and redis.pcall('HEXISTS', KEY.pushes, id) == 1 then outbox().put_latest(id, turn, 'working', own) end
end
