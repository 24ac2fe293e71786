-- use: task_record lane journal expiry parents unique_keys suspect_queue joined_messages clock limits task_end ties
-- provides: submit_due promote
local function submit_due(id, why)
  call('ZREM', KEY.due, id)
  to_tail(id)
  note('promoted', id, why)
end

-- Works off items of the agenda, until about `most` units of work are done.
local function work_off(items, most)
  local expiry, ties = expiry(), ties()
  local function expire(id)
    local work = 1 + ties.count(id)
    if not expiry.expire(id) then ties.agenda.strike('expire', id) end
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
    most = most - DO[what](name, most)
  end
end

-- Submits a delayed task. An id without a delayed record is removed; a damaged record stays delayed and is never due.
local function promote_one(id)
  local r = read(id, 'state', 'lane')
  if r[1] ~= 'delayed' then call('ZREM', KEY.due, id)
  elseif r[2] then submit_due(id)
  else call('ZADD', KEY.due, 'inf', id) end
end

-- Submits delayed tasks that are due, at most `limit`, and does other work that is due. Answers how many tasks were looked at.
local function promote(limit)
  local most = math.min(limit, AGENDA_WORK)
  local ended = call('SRANDMEMBER', KEY.leftover)
  if ended then set_rest_aside(ended) end
  if call('EXISTS', KEY.joining) == 1 then joins().step() end
  local items = call('ZRANGEBYSCORE', KEY.agenda, '-inf', NOW, 'LIMIT', 0, most)
  if #items > 0 then work_off(items, most) end
  if call('EXISTS', KEY.solo) == 1 then move_solo(limit) end
  local ids = call('ZRANGEBYSCORE', KEY.due, '-inf', NOW, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do promote_one(id) end
  return #ids
end
