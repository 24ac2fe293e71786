-- use: task_record clock constants journal shared_keys
-- provides: outbox tell_webhook tell_working
-- The outbox: webhooks that are not delivered yet. Each is a hash, and one sorted set has their names by when to try next. A second set for
-- each receiver (host and port) has the names of its webhooks, so that many for one receiver delay no other. Receivers that have answered
-- promptly come first, then the one whose turn was longest ago. Somebody may damage these sets: a name counts while it stands in the first
-- set.
-- The functions are defined inside one function: few tasks have a webhook, and each function of a script costs every call of it.
local function outbox()
  local index = KEY.webhooks
  local TURNS_TOLD = 1000   -- so many last turns of a task are searched for webhooks

  local function name_of(id, turn, state) return id .. '|' .. turn .. '|' .. state end
  local function hash_of(name) return KEY.webhook .. name end

  -- The host and port in a URL; '' if there is none.
  local function receiver_of(url)
    local scheme, authority = string.match(type(url) == 'string' and url or '', '^(%a+)://([^/?#]+)')
    if not scheme then return '' end
    local host = string.lower(string.match(authority, '[^@]*$'))
    if string.find(host, ':%d+$') then return host end
    return host .. (string.lower(scheme) == 'http' and ':80' or ':443')
  end

  local function receiver_of_name(name) return receiver_of(redis.pcall('HGET', hash_of(name), 'url')) end

  -- Two answers: how often a receiver has missed in a row; the moment before which nothing is sent to it.
  local function turn_of(receiver)
    local noted = redis.pcall('HGET', KEY.receivers_turn, receiver)
    local misses, at = string.match(type(noted) == 'string' and noted or '', '^(%d+) (%d+)$')
    return tonumber(misses) or 0, tonumber(at) or 0
  end

  -- Notes when to look at a receiver next: when its first webhook is due, but not before its turn.
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

  -- Plans a webhook for this moment.
  local function plan(name, receiver, at)
    call('ZADD', index, at, name)
    shared('ZADD', KEY.receiver .. receiver, at, name)
    look_at(receiver)
  end

  local function leave(name, receiver)
    redis.pcall('ZREM', KEY.receiver .. receiver, name)
    look_at(receiver)
  end

  -- Notes a webhook that was given up: the last ones can be tried again.
  local function give_up(name, turn, state, url, at, tries, why)
    local entry = cjson.encode({name, tostring(turn), state, url, tostring(at), tostring(tries), string.format('%.0f', NOW), why})
    redis.pcall('LPUSH', KEY.given_up, entry)   -- pcall, because a damaged list must not stop the call
    redis.pcall('LTRIM', KEY.given_up, 0, GIVEN_UP_KEPT - 1)
  end

  -- Wakes a steward that waits for the next due webhook.
  local function wake_up()
    if call('LLEN', KEY.webhooks_control) == 0 then call('RPUSH', KEY.webhooks_control, 'due') end
  end

  local function put(id, turn, state, url, at)
    local name, receiver = name_of(id, turn, state), receiver_of(url)
    -- One receiver may have at most as many webhooks as there are free places in the outbox. So other receivers always find room.
    local of_receiver = redis.pcall('ZCARD', KEY.receiver .. receiver)
    if call('ZCARD', index) + (type(of_receiver) == 'number' and of_receiver or 0) >= OUTBOX_KEPT then
      give_up(name, turn, state, url, at or NOW, 0, 'the outbox is full')
      return tell('webhook-dropped', id, 'the outbox is full')
    end
    call('HSET', hash_of(name), 'task', id, 'turn', turn, 'state', state, 'url', url, 'at', at or NOW, 'tries', 0)
    plan(name, receiver, NOW)
    wake_up()
  end

  -- Gives a waiting webhook another URL, and so perhaps another receiver.
  local function send_to(name, url)
    local before, receiver, at = receiver_of_name(name), receiver_of(url), call('ZSCORE', index, name)
    call('HSET', hash_of(name), 'url', url)
    if receiver == before or not at then return end
    leave(name, before)
    plan(name, receiver, at)
  end

  -- Puts the webhook of a turn that goes on, with its latest progress. A webhook of this turn that waits already keeps its number of tries
  -- and its time: a URL that does not answer is tried less and less often.
  local function put_latest(id, turn, state, url)
    local name = name_of(id, turn, state)
    if not call('ZSCORE', index, name) then return put(id, turn, state, url) end
    redis.pcall('HSET', hash_of(name), 'at', NOW)
    local known = redis.pcall('HGET', hash_of(name), 'url')
    if type(known) == 'string' and known ~= url then send_to(name, url) end
  end

  -- If newer progress was put into a webhook since this moment, plans it for now, as not tried yet. Answers true if so.
  local function try_later_one(name, at)
    local latest = at ~= '' and redis.pcall('HGET', hash_of(name), 'at')
    if type(latest) ~= 'string' or latest == at then return false end
    call('HSET', hash_of(name), 'tries', 0, 'why', '')
    plan(name, receiver_of_name(name), NOW)
    wake_up()
    return true
  end

  -- Removes a webhook. `why`: it is given up for this reason; nil if it was delivered or taken away.
  local function drop(name, why)
    local receiver, r = receiver_of_name(name), why and redis.pcall('HMGET', hash_of(name), 'turn', 'state', 'url', 'at', 'tries')
    if r and r[1] and r[2] and r[3] then give_up(name, r[1], r[2], r[3], r[4] or 0, r[5] or 0, why) end
    call('UNLINK', hash_of(name))
    leave(name, receiver)
    return call('ZREM', index, name) == 1
  end

  -- Puts a webhook that was given up back into the outbox. Answers false if it is not among the last ones.
  local function take_back(name)
    local entries = redis.pcall('LRANGE', KEY.given_up, 0, -1)
    for _, entry in ipairs(entries.err and {} or entries) do
      local is_read, r = pcall(cjson.decode, entry)
      if is_read and type(r) == 'table' and r[1] == name then
        call('LREM', KEY.given_up, 1, entry)
        put(string.match(name, '^[^|]*'), r[2], r[3], r[4], r[5])
        return true
      end
    end
    return false
  end

  -- The waiting webhooks of a task: name, turn, state, URL and moment of each.
  local function of(id)
    local found = {}
    local function add(turn, state)
      local name = name_of(id, turn, state)
      local r = redis.pcall('HMGET', hash_of(name), 'url', 'at')
      if r[1] and r[2] then for _, word in ipairs({name, tostring(turn), state, r[1], r[2]}) do found[#found + 1] = word end end
    end
    local r = read(id, 'turn', 'state')
    local last = whole(r[1]) or 0
    for turn = math.max(1, last - TURNS_TOLD), last do   -- somebody may have written a huge number into the record
      add(turn, 'input-required')
      add(turn, 'auth-required')
      add(turn, 'working')
    end
    if TERMINAL[r[2]] then add(r[1], r[2]) end
    return found
  end

  -- Sends the waiting webhooks of a task from one URL to another; '' removes them.
  local function move(id, known, url)
    local found = of(id)
    for i = 1, #found, 5 do
      if found[i + 3] == known then
        if url == '' then drop(found[i]) else send_to(found[i], url) end
      end
    end
  end

  return {index = index, hash = hash_of, put = put, put_latest = put_latest, try_later_one = try_later_one, wake_up = wake_up, drop = drop, take_back = take_back, of = of,
    move = move, plan = plan, leave = leave, receiver_of_name = receiver_of_name, turn_of = turn_of, give_turn = give_turn}
end

local of_queue   -- the queue's webhook; false if there is none, nil before the first look

-- Puts the webhook of a task that has ended, or that asks for something, into the outbox. Its URL is the task's own, else the queue's.
local function tell_webhook(id, state, turn, own)
  if of_queue == nil then of_queue = call('HGET', KEY.meta, 'webhook') end
  local url = own or of_queue
  if url then outbox().put(id, turn, state, url) end
end

-- The same for a task that works, or has made progress. Only clients of the agent that have set a URL are told this; a plain webhook is
-- not.
local function tell_working(id, turn, own)
  if own and redis.pcall('HEXISTS', KEY.pushes, id) == 1 then outbox().put_latest(id, turn, 'working', own) end
end
