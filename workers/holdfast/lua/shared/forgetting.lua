-- use: record journal
-- Delete all that is kept of tasks that have ended.
local function forget(ids)
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
