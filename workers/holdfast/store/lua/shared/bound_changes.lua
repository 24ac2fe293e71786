-- use: journal clock gates limits rules task_record workers
-- provides: bounding
-- Changing what is said of lanes and handlers, and what follows from it.
-- A function that makes functions: it is seldom needed.
local function bounding()
  local touched, changed = {}, 0

  -- The permits of a lane: of what runs there, if it has a limit.
  local function count_running(lane)
    for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
      for _, id in ipairs(call('HKEYS', running_of(incarnation))) do
        local r = read(id, 'state', 'lane', 'concurrency_key')
        if r[1] == 'working' and r[2] == lane then
          call('SADD', T .. 'active:' .. lane, id)
          write(id, 'permits', r[3] and 'kl' or 'l')
        end
      end
    end
  end

  local function apply(name, subject)
    if name == 'limit' then
      call('DEL', T .. 'active:' .. subject)
      if bounds().rule('limit', subject) then count_running(subject) end
    elseif name == 'end' then
      call(bounds().rule('end', subject) == 'tail' and 'SADD' or 'SREM', T .. 'turned', subject)
      call('HDEL', T .. 'wrong_end', subject)
    elseif (name == 'rate' or name == 'name') and not bounds().rule(name, subject) then
      call('HDEL', T .. 'rates', name .. ':' .. subject)
    end
    if name ~= 'name' then bounds().reopen(subject) end
  end

  -- Those of handlers, and the first of the others: a gate of a key is looked at, too, when a task of that key has ended.
  local function look_at_gates_again()
    for _, lane in ipairs(call('SMEMBERS', T .. 'gated')) do
      local gates = call('ZRANGE', T .. 'gates:' .. lane, 0, GATES_AT_ONCE - 1)
      for _, one in ipairs(touched) do gates[#gates + 1] = one[1] .. ':' .. one[2] end
      for _, gate in ipairs(gates) do call('ZADD', T .. 'gates:' .. lane, 'XX', NOW, gate) end
      bounds().reopen(lane)
    end
  end

  -- One bound by its field; an empty value takes the word back.
  local function say(field, value)
    local known = call('HGET', T .. 'rules', field)
    if (known or '') == value then return end
    if value == '' then call('HDEL', T .. 'rules', field) else call('HSET', T .. 'rules', field, value) end
    changed = changed + 1
    local name, subject = string.match(field, '^%a+:(%a+):(.*)$')
    touched[#touched + 1] = {name, subject}
    tell('lane-bound', subject, name .. ' ' .. value)
  end

  -- What was said, counts from now on; how many words changed.
  local function count()
    count_bounds()
    for _, one in ipairs(touched) do apply(one[1], one[2]) end
    if changed > 0 then look_at_gates_again() end
    return changed
  end

  -- Nothing more starts from it.
  local function close(lane, since_and_why)
    call('HSET', T .. 'rules', 'paused:' .. lane, since_and_why)
    call('HSET', T .. 'closed', lane, 'paused')
    call('DEL', T .. 'bell:' .. lane)
    call('ZREM', T .. 'alarms', lane)
  end

  -- Whether it was paused.
  local function open(lane)
    if call('HDEL', T .. 'rules', 'paused:' .. lane) == 0 then return false end
    tell('lane-resumed', lane)
    bounds().reopen(lane)
    return true
  end

  return {say = say, count = count, close = close, open = open}
end
