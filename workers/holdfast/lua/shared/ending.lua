-- use: record journal aside
-- The end of a task. Messages that still waited for it are set aside, reported.
local function finish(id, state, reason)
  write(id, 'state', state, 'owner', '', 'claim', '', 'due', '', 'finished', NOW, 'reason', reason)
  call('ZADD', T .. 'finished', NOW, id)
  tally(state, 1)
  -- A completed task has no message left: the first that waits would have begun a turn.
  local waiting = state ~= 'completed' and call('LRANGE', T .. 'pending:' .. id, 0, -1) or {}
  for _, item in ipairs(waiting) do
    set_aside('task ' .. id .. ' was ' .. state .. ' before this message ran', string.match(item, '^[^|]*|[^|]*|(.*)$'))
  end
  call('DEL', T .. 'pending:' .. id, T .. 'checkpoint:' .. id)
  count(state)
  tell_waiters(id, state)
end
