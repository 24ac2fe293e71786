-- use: clock limits
-- provides: tell note count set_aside
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

-- What cannot be understood or can no longer be run is set aside with its reason, never dropped in silence.
-- `lane`: where it goes when somebody wants it read again.
local SPELLED = {['%'] = '%25', ['|'] = '%7C'}

local function set_aside(reason, raw, lane)
  local kept = T .. 'unreadable'
  call('RPUSH', kept, NOW .. '|' .. #raw .. '@' .. string.gsub(lane, '[%%|]', SPELLED) .. '|' .. string.gsub(reason, '|', '/') .. '|' .. string.sub(raw, 1, UNREADABLE_BYTES))
  call('LTRIM', kept, -UNREADABLE_KEPT, -1)
  count('unreadable')
end
