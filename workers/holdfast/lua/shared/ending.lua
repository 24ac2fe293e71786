-- use: record journal aside ties scheduling outbox
-- Messages that still waited for a task that has ended are set aside, reported; nothing points at it any more.
local function drop_rest(id, state)
  local lane = read(id, 'lane')[1]
  for _, item in ipairs(call('LRANGE', T .. 'pending:' .. id, 0, -1)) do
    set_aside('task ' .. id .. ' was ' .. state .. ' before this message ran', string.match(item, '^[^|]*|[^|]*|(.*)$'), lane)
  end
  call('DEL', T .. 'pending:' .. id, T .. 'checkpoint:' .. id)
  ties().undo_all(id)
end

-- Whether messages or other tasks wait for it, a checkpoint is kept, something points at it: for most tasks one look spares
-- several.
local function has_rest(id)
  return call('EXISTS', T .. 'pending:' .. id, T .. 'checkpoint:' .. id, T .. 'ties:' .. id, T .. 'children:' .. id) > 0
end

-- What the handler that has just completed asked for, ms: its schedule may be one that goes on from there.
local backoff_asked = nil

-- The end of a task. `rest`: whether has_rest; `known`: the fields that are read here, from who has read them before;
-- what follows are further fields to write. Its record is kept for days: without empty fields it is smaller.
local function finish(id, state, reason, rest, known, ...)
  call('HDEL', T .. 'task:' .. id, 'owner', 'claim', 'due', 'deaths')
  write(id, 'state', state, 'finished', NOW, 'reason', reason, ...)
  call('ZADD', T .. 'finished', NOW, id)
  tally(state, 1)
  if rest then drop_rest(id, state) end
  tell_waiters(id, state)
  local r = known or read(id, 'schedule', 'generation', 'turn', 'webhook')
  tell_webhook(id, state, r[3], r[4])
  if r[1] then scheduling().fire_ended(r[1], r[2], id, state, reason, backoff_asked) end
end
