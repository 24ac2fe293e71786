-- use: record lane journal
-- Submit what is due, at most so many; how many were looked at. An id without a delayed record is only forgotten.
local function promote(limit)
  local ids = call('ZRANGEBYSCORE', T .. 'due', '-inf', NOW, 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    call('ZREM', T .. 'due', id)
    if read(id, 'state')[1] == 'delayed' then
      to_tail(id)
      note('promoted', id)
    end
  end
  return #ids
end
