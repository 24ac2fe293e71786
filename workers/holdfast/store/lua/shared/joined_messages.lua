-- use: task_record lane journal constants parents damage
-- provides: joins
-- Messages that join a turn that a pause has interrupted: the turn runs again with all of them, and has one outcome. Each message has a
-- number of its own, like a turn. The messages before the last stand in the history without a result; the result of the last one is theirs,
-- too.
-- The functions are defined inside one function, because few calls need them.
local function joins()
  -- Joins one message. If a run did not have this message, its late result no longer counts.
  local function join(id, message, digest, operation)
    call('RPUSH', KEY.history .. id, operation_of(id) or '{}', '')
    call('SET', KEY.op .. id, operation)
    local turn = call('HINCRBY', KEY.task .. id, 'turn', 1)
    write(id, 'message', message, 'digest', digest, 'claim', '')
    note('joined', id, turn .. ' ' .. message)
  end

  -- Joins the waiting messages in order, at most JOINED_AT_ONCE in one call. Answers true if none is left.
  local function join_pending(id)
    local pending, bytes = KEY.pending .. id, 0
    for _ = 1, JOINED_AT_ONCE do
      local item = bytes < WINDOW_BYTES and call('LINDEX', pending, 0)
      if not item then break end
      join(id, string.match(item, '^([^|]*)|([^|]*)|(.*)$'))
      call('LPOP', pending)
      bytes = bytes + #item
    end
    return call('EXISTS', pending) == 0
  end

  local function stop(id)
    call('SREM', KEY.joining, id)
    call('HDEL', KEY.task .. id, 'joining')
  end

  -- Leaves the task suspended, with the field `joining`; `promote` continues.
  local function keep_on(id)
    write(id, 'joining', '1')
    call('SADD', KEY.joining, id)
    if call('LLEN', KEY.steward_control) == 0 then call('RPUSH', KEY.steward_control, 'joining') end
  end

  -- Resumes a suspended task with all its waiting messages. If there are many, they join in several steps before that.
  local function go_on_with_all(id, lane)
    if not join_pending(id) then return keep_on(id) end
    stop(id)
    leave_index(id, 'suspended', lane)
    note('message', id, read(id, 'message')[1])
    go_on(id)
  end

  -- Does the next step for one of the tasks whose messages still join. A damaged task is set aside.
  local function step()
    local id = call('SRANDMEMBER', KEY.joining)
    local r = read(id, 'state', 'joining', 'lane')
    local goes_on = r[1] == 'suspended' and r[2] == '1'
    local flaw = goes_on and flaw_of(id)
    local function leave() call('SREM', KEY.joining, id) end
    if not flaw then return each_task(id, nil, leave, goes_on and go_on_with_all or stop, r[3]) end
    leave()
    set_task_aside(id, flaw)
  end

  return {keep_on = keep_on, stop = stop, go_on = go_on_with_all, step = step}
end
