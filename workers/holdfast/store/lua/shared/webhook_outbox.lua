-- use: task_record clock limits journal shared_keys
-- provides: outbox tell_webhook tell_working
-- Webhooks that are not delivered yet: a hash each, and their names in one sorted set by when to try next. The names stand once more by
-- receiver (host and port), so that many for one receiver keep no other waiting: receivers that have answered promptly come first, and
-- of the others the one whose turn was longest ago. Somebody may have damaged these sets: a name counts while it stands in the first.
-- A function that makes functions: few tasks have a webhook, and each function of a script costs every call of it.
local function outbox()
  local index = KEY.webhooks
  local TURNS_TOLD = 1000   -- the last turns of a task, whose webhooks may wait

  local function name_of(id, turn, state) return id .. '|' .. turn .. '|' .. state end
  local function hash_of(name) return KEY.webhook .. name end

  -- The host and port that a URL names; '' where there is none.
  local function receiver_of(url)
    local scheme, authority = string.match(type(url) == 'string' and url or '', '^(%a+)://([^/?#]+)')
    if not scheme then return '' end
    local host = string.lower(string.match(authority, '[^@]*$'))
    if string.find(host, ':%d+$') then return host end
    return host .. (string.lower(scheme) == 'http' and ':80' or ':443')
  end

  local function receiver_of_name(name) return receiver_of(redis.pcall('HGET', hash_of(name), 'url')) end

  -- How often a receiver has missed in a row, and the moment before which it has no turn.
  local function turn_of(receiver)
    local noted = redis.pcall('HGET', KEY.receivers_turn, receiver)
    local misses, at = string.match(type(noted) == 'string' and noted or '', '^(%d+) (%d+)$')
    return tonumber(misses) or 0, tonumber(at) or 0
  end

  -- Notes when a receiver is next to be looked at: when its first webhook is due, and it is its turn.
  local function look_at(receiver)
    local first = redis.pcall('ZRANGE', KEY.receiver .. receiver, 0, 0, 'WITHSCORES')[2]
    local own, other = KEY.receivers, KEY.receivers_prompt
    if not first then
      redis.pcall('HDEL', KEY.receivers_turn, receiver)
      redis.pcall('ZREM', own, receiver)
      return redis.pcall('ZREM', other, receiver)
    end
    if type(redis.pcall('ZSCORE', KEY.prompt, receiver)) == 'string' then own, other = other, own end
    local _, at = turn_of(receiver)
    redis.pcall('ZREM', other, receiver)
    shared('ZADD', own, math.max(tonumber(first), at), receiver)
  end

  local function give_turn(receiver, misses, at)
    redis.pcall('HSET', KEY.receivers_turn, receiver, misses .. ' ' .. string.format('%.0f', at))
    look_at(receiver)
  end

  -- Has a webhook tried at this moment.
  local function plan(name, receiver, at)
    call('ZADD', index, at, name)
    shared('ZADD', KEY.receiver .. receiver, at, name)
    look_at(receiver)
  end

  local function leave(name, receiver)
    redis.pcall('ZREM', KEY.receiver .. receiver, name)
    look_at(receiver)
  end

  -- A steward that waits for webhooks to be due looks again.
  local function wake_up()
    if call('LLEN', KEY.webhooks_control) == 0 then call('RPUSH', KEY.webhooks_control, 'due') end
  end

  local function put(id, turn, state, url, at)
    local name, receiver = name_of(id, turn, state), receiver_of(url)
    -- As many for one receiver as there is room besides: there is always room for another receiver.
    local of_receiver = redis.pcall('ZCARD', KEY.receiver .. receiver)
    if call('ZCARD', index) + (type(of_receiver) == 'number' and of_receiver or 0) >= OUTBOX_KEPT then
      return tell('webhook-dropped', id, 'the outbox is full')
    end
    call('HSET', hash_of(name), 'task', id, 'turn', turn, 'state', state, 'url', url, 'at', at or NOW, 'tries', 0)
    plan(name, receiver, NOW)
    wake_up()
  end

  -- Has a webhook that waits wait for another receiver.
  local function send_to(name, url)
    local before, receiver, at = receiver_of_name(name), receiver_of(url), call('ZSCORE', index, name)
    call('HSET', hash_of(name), 'url', url)
    if receiver == before or not at then return end
    leave(name, before)
    plan(name, receiver, at)
  end

  -- The webhook of a turn that goes on tells of its latest progress. Where one waits already it keeps its attempts and when it is tried
  -- next: a URL that does not answer is tried less and less often.
  local function put_latest(id, turn, state, url)
    local name = name_of(id, turn, state)
    if not call('ZSCORE', index, name) then return put(id, turn, state, url) end
    redis.pcall('HSET', hash_of(name), 'at', NOW)
    local known = redis.pcall('HGET', hash_of(name), 'url')
    if type(known) == 'string' and known ~= url then send_to(name, url) end
  end

  -- Has a webhook that was put again since this moment tried at once. Answers whether there is one.
  local function try_later_one(name, at)
    local latest = at ~= '' and redis.pcall('HGET', hash_of(name), 'at')
    if type(latest) ~= 'string' or latest == at then return false end
    call('HSET', hash_of(name), 'tries', 0)
    plan(name, receiver_of_name(name), NOW)
    wake_up()
    return true
  end

  local function drop(name)
    local receiver = receiver_of_name(name)
    call('UNLINK', hash_of(name))
    leave(name, receiver)
    return call('ZREM', index, name) == 1
  end

  -- The webhooks of a task that wait: name, turn, state, URL and moment of each.
  local function of(id)
    local found = {}
    local function add(turn, state)
      local name = name_of(id, turn, state)
      local r = redis.pcall('HMGET', hash_of(name), 'url', 'at')
      if r[1] and r[2] then for _, word in ipairs({name, tostring(turn), state, r[1], r[2]}) do found[#found + 1] = word end end
    end
    local r = read(id, 'turn', 'state')
    local last = whole(r[1]) or 0
    for turn = math.max(1, last - TURNS_TOLD), last do   -- somebody may have written a huge number
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
        if url == '' then drop(found[i]) else send_to(found[i], url) end
      end
    end
  end

  return {index = index, hash = hash_of, put = put, put_latest = put_latest, try_later_one = try_later_one, wake_up = wake_up, drop = drop, of = of,
    move = move, plan = plan, leave = leave, receiver_of_name = receiver_of_name, turn_of = turn_of, give_turn = give_turn}
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
