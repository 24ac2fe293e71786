-- use: clock limits
-- What happened, for people and checkers: the events stream in Redis's order, and each task's own trail.
local function tell(event, id, detail)
  call('XADD', T .. 'events', 'MAXLEN', '~', EVENTS_KEPT, '*', 'event', event, 'id', id, 'detail', detail or '')
end

local function note(event, id, detail)
  tell(event, id, detail)
  local trail = T .. 'trail:' .. id
  if call('RPUSH', trail, NOW .. ' ' .. event .. ' ' .. (detail or '')) > TRAIL_KEPT then
    call('LTRIM', trail, -TRAIL_KEPT, -1)
  end
end

local function count(name, n)
  call('HINCRBY', T .. 'counters', name, n or 1)
end
