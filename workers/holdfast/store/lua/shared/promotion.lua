-- use: task_record lane journal expiry parents unique_keys suspect_queue joined_messages clock limits task_end ties
-- provides: submit_due promote
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

-- An id without a delayed record is only forgotten; a record that somebody has damaged stays delayed, and is never due.
local function promote_one(id)
  local r = read(id, 'state', 'lane')
  if r[1] ~= 'delayed' then call('ZREM', T .. 'due', id)
  elseif r[2] then submit_due(id)
  else call('ZADD', T .. 'due', 'inf', id) end
end

-- Submit what is due, at most so many; how many were looked at.
local function promote(limit)
  local most = math.min(limit, AGENDA_WORK)
  local ended = call('SRANDMEMBER', T .. 'leftover')
  if ended then set_rest_aside(ended) end
  if call('EXISTS', T .. 'joining') == 1 then joins().step() end
  local items = call('ZRANGEBYSCORE', T .. 'agenda', '-inf', NOW, 'LIMIT', 0, most)
  if #items > 0 then work_off(items, most) end
  if call('EXISTS', T .. 'solo') == 1 then move_solo(limit) end
  local ids = call('ZRANGEBYSCORE', T .. 'due', '-inf', NOW, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do promote_one(id) end
  return #ids
end
