-- use: journal clock gates constants rules task_record workers shared_keys
-- provides: bounding
-- Changes the bounds and pauses of lanes and handlers, and does what follows from a change.
-- The functions are defined inside one function, because few calls need them.
local function bounding()
  local touched, changed = {}, 0

  -- Makes the permits of a lane with a limit, from the tasks that run there.
  local function count_running(lane)
    for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
      for _, id in ipairs(running_ids(incarnation)) do
        local r = read(id, 'state', 'lane', 'concurrency_key')
        if r[1] == 'working' and r[2] == lane then
          shared('SADD', KEY.active .. lane, id)
          write(id, 'permits', r[3] and 'kl' or 'l')
        end
      end
    end
  end

  local function apply(name, subject)
    if name == 'limit' then
      call('DEL', KEY.active .. subject)
      if bounds().rule('limit', subject) then count_running(subject) end
    elseif name == 'end' then
      call(bounds().rule('end', subject) == 'tail' and 'SADD' or 'SREM', KEY.turned, subject)
      call('HDEL', KEY.wrong_end, subject)
    elseif (name == 'rate' or name == 'name') and not bounds().rule(name, subject) then
      call('HDEL', KEY.rates, name .. ':' .. subject)
    end
    if name ~= 'name' then bounds().reopen(subject) end
  end

  -- Marks gates to be looked at again: all gates of handlers, and the first of the others. (The end of a task also marks the gate of its
  -- key.)
  local function look_at_gates_again()
    for _, lane in ipairs(call('SMEMBERS', KEY.gated)) do
      local gates = shared('ZRANGE', KEY.gates .. lane, 0, GATES_AT_ONCE - 1)
      for _, one in ipairs(touched) do gates[#gates + 1] = one[1] .. ':' .. one[2] end
      for _, gate in ipairs(gates) do shared('ZADD', KEY.gates .. lane, 'XX', NOW, gate) end
      bounds().reopen(lane)
    end
  end

  -- Sets one bound by its field; an empty value removes it. A bound with the same value is put into force again, because an error may have
  -- ended the call that set it.
  local function say(field, value)
    local known = call('HGET', KEY.rules, field)
    if (known or '') == value then
      if known then touched[#touched + 1] = {string.match(field, '^%a+:(%a+):(.*)$')} end
      return
    end
    if value == '' then call('HDEL', KEY.rules, field) else call('HSET', KEY.rules, field, value) end
    changed = changed + 1
    local name, subject = string.match(field, '^%a+:(%a+):(.*)$')
    touched[#touched + 1] = {name, subject}
    tell('lane-bound', subject, name .. ' ' .. value)
  end

  -- Puts the changes into force. Answers how many bounds changed.
  local function count()
    count_bounds()
    for _, one in ipairs(touched) do apply(one[1], one[2]) end
    if changed > 0 then look_at_gates_again() end
    return changed
  end

  -- Pauses a lane.
  local function close(lane, since_and_why)
    call('HSET', KEY.rules, 'paused:' .. lane, since_and_why)
    call('HSET', KEY.closed, lane, 'paused')
    call('DEL', KEY.bell .. lane)
    call('ZREM', KEY.alarms, lane)
  end

  -- Resumes a lane. Answers whether it was paused.
  local function open(lane)
    if call('HDEL', KEY.rules, 'paused:' .. lane) == 0 then return false end
    tell('lane-resumed', lane)
    bounds().reopen(lane)
    return true
  end

  return {say = say, count = count, close = close, open = open}
end
