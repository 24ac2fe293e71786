-- use: clock limits
-- provides: tell note count set_aside
-- The journal: the stream of events, the trail of each task, the counters, and the entries that were set aside.
local function tell(event, id, detail)
  call('XADD', KEY.events, 'MAXLEN', '~', EVENTS_KEPT, '*', 'event', event, 'id', id, 'detail', detail or '')
end

local function note(event, id, detail)
  tell(event, id, detail)
  local trail = KEY.trail .. id
  if call('RPUSH', trail, NOW .. ' ' .. event .. ' ' .. (detail or '')) > TRAIL_KEPT then
    call('LTRIM', trail, -TRAIL_KEPT, -1)
  end
end

local function count(name, n)
  call('HINCRBY', KEY.counters, name, n or 1)
end

-- Keeps an entry that cannot be read or can no longer run, with the reason, instead of dropping it.
-- `lane`: the lane to which `readmit` returns it.
local SPELLED = {['%'] = '%25', ['|'] = '%7C'}

local function set_aside(reason, raw, lane)
  local kept = KEY.unreadable
  call('RPUSH', kept, NOW .. '|' .. #raw .. '@' .. string.gsub(lane, '[%%|]', SPELLED) .. '|' .. string.gsub(reason, '|', '/') .. '|' .. string.sub(raw, 1, UNREADABLE_BYTES))
  call('LTRIM', kept, -UNREADABLE_KEPT, -1)
  count('unreadable')
end
