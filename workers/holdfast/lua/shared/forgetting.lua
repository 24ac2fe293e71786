-- use: record journal agenda
-- Delete all that is kept of tasks that have ended. One whose children have not all been told of its end stays for now.
local function forget(all)
  local ids = {}
  for _, id in ipairs(all) do
    if call('EXISTS', T .. 'children:' .. id) == 0 then ids[#ids + 1] = id else agenda().put(NOW, 'settle', id) end
  end
  for _, id in ipairs(ids) do
    local r = read(id, 'turn', 'state')
    if r[2] then
      tally(r[2], -1)
      count(r[2])
    end
    for turn = 1, tonumber(r[1]) or 0 do call('UNLINK', T .. 'result:' .. id .. ':' .. turn) end
    call('UNLINK', T .. 'task:' .. id, T .. 'op:' .. id, T .. 'history:' .. id, T .. 'checkpoint:' .. id, T .. 'pending:' .. id,
      T .. 'messages:' .. id, T .. 'trail:' .. id)
    call('ZREM', T .. 'finished', id)
    call('ZREM', T .. 'dead', id)
  end
  if #ids > 0 then count('trimmed', #ids) end
  return #ids
end
