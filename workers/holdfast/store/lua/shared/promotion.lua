-- use: task_record lane journal expiry parents unique_keys joined_messages clock constants task_end ties damage
-- provides: submit_due promote
local function submit_due(id, why)
  to_tail(id)
  call('ZREM', KEY.due, id)   -- after that: an error before leaves it delayed
  note('promoted', id, why)
end

-- Does what items of the agenda ask for, until about `most` units of work are done.
local function work_off(items, most)
  local expiry, ties = expiry(), ties()
  local function expire(id)
    local work = 1 + ties.count(id)
    local expired, flaw = expiry.expire(id)
    if not expired then ties.agenda.strike('expire', id) end
    if flaw then set_task_aside(id, flaw) end
    return work
  end

  local function forget(key)
    unique().forget(key)
    return 1
  end

  local DO = {expire = expire, settle = waiting().tell_children, forget = forget}
  for _, item in ipairs(items) do
    if most <= 0 then return end
    local what, name = string.match(item, '^(%a+)|(.*)$')
    local went, work = attempt(DO[what], name, most)
    if not went then
      call('ZREM', KEY.agenda, item)
      if what == 'expire' then set_task_aside(name, work) else set_aside('an item of the agenda cannot be read: ' .. work, item, QUEUE) end
    end
    most = most - (went and work or 1)
  end
end

-- Submits delayed tasks that are due, at most `limit`, and does other due work. Answers how many delayed tasks it looked at.
local function promote(limit)
  local most = math.min(limit, AGENDA_WORK)
  local ended = call('SRANDMEMBER', KEY.leftover)
  if ended then set_rest_aside(ended) end
  if call('EXISTS', KEY.joining) == 1 then joins().step() end
  local items = call('ZRANGEBYSCORE', KEY.agenda, '-inf', NOW, 'LIMIT', 0, most)
  if #items > 0 then work_off(items, most) end
  local ids = call('ZRANGEBYSCORE', KEY.due, '-inf', NOW, 'LIMIT', 0, limit)

  -- Takes a damaged task out of the due times: it stays delayed, and is never due. An id without a delayed record is removed.
  local function leave(id)
    if read(id, 'state')[1] == 'delayed' then call('ZADD', KEY.due, 'inf', id) else call('ZREM', KEY.due, id) end
  end

  local function submit(id)
    local state = read(id, 'state')[1]
    local flaw = state and flaw_of(id)
    if state == 'delayed' and not flaw then return submit_due(id) end
    leave(id)
    if flaw then set_task_aside(id, flaw) end
  end

  for _, id in ipairs(ids) do each_task(id, nil, leave, submit) end
  return #ids
end
