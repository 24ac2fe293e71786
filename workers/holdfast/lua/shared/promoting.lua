-- use: record lane journal
local function submit_due(id, why)
  call('ZREM', T .. 'due', id)
  to_tail(id)
  note('promoted', id, why)
end

-- Submit what is due, at most so many; how many were looked at. An id without a delayed record is only forgotten.
local function promote(limit)
  local ids = call('ZRANGEBYSCORE', T .. 'due', '-inf', NOW, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    if read(id, 'state')[1] == 'delayed' then submit_due(id) else call('ZREM', T .. 'due', id) end
  end
  return #ids
end
