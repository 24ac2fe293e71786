-- use: task_record lane journal expiry parents unique_keys
local function submit_due(id, why)
  call('ZREM', T .. 'due', id)
  to_tail(id)
  note('promoted', id, why)
end

-- Do what is to be done, until about `most` was worked off.
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

-- Submit what is due, at most so many; how many were looked at. An id without a delayed record is only forgotten.
local function promote(limit)
  local most = math.min(limit, AGENDA_WORK)
  local items = call('ZRANGEBYSCORE', T .. 'agenda', '-inf', NOW, 'LIMIT', 0, most)
  if #items > 0 then work_off(items, most) end
  local ids = call('ZRANGEBYSCORE', T .. 'due', '-inf', NOW, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    if read(id, 'state')[1] == 'delayed' then submit_due(id) else call('ZREM', T .. 'due', id) end
  end
  return #ids
end
