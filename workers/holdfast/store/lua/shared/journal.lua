-- use: clock constants
-- provides: tell tell_each note raise count set_aside
-- The journal: the stream of events, the trail of each task, the counters, and the entries that were set aside.
local function tell(event, id, detail)
  call('XADD', KEY.events, 'MAXLEN', '~', EVENTS_KEPT, '*', 'event', event, 'id', id, 'detail', detail or '')
end

-- Adds the same event for several tasks. One entry names consecutive tasks with the same detail. The stream is trimmed once, because each
-- look at its length costs time.
local function tell_each(event, ids, details)
  if #ids == 1 then return tell(event, ids[1], details[1]) end
  local NAMED_AT_ONCE, first = 16, 1
  for i = 2, #ids + 1 do
    if details[i] ~= details[first] or i - first == NAMED_AT_ONCE then
      local named = table.concat(ids, ' ', first, i - 1)
      if first == 1 then tell(event, named, details[1]) else call('XADD', KEY.events, '*', 'event', event, 'id', named, 'detail', details[first]) end
      first = i
    end
  end
end

local MOMENT = NOW .. ' '   -- made once, because making a text of a number costs as much as a write
local function add_to_trail(event, id, detail)
  local trail, line = KEY.trail .. id, MOMENT .. event .. ' ' .. (detail or '')
  local length = redis.pcall('RPUSH', trail, line)
  if type(length) ~= 'number' then   -- the key holds another type, which another program wrote
    call('UNLINK', trail)
    length = call('RPUSH', trail, line)
  end
  if length > TRAIL_KEPT then call('LTRIM', trail, -TRAIL_KEPT, -1) end
end

local function note(event, id, detail)
  tell(event, id, detail)
  add_to_trail(event, id, detail)
end

-- Adds to a number in a hash. If somebody has written another text there, the number begins anew.
local function raise(key, field, n)
  local sum = redis.pcall('HINCRBY', key, field, n)
  if type(sum) == 'number' then return sum end
  local why = tostring(sum.err)
  if not string.find(why, 'not an integer', 1, true) and not string.find(why, 'overflow', 1, true) then return call('HINCRBY', key, field, n) end
  call('HSET', key, field, n)
  return n
end

local function count(name, n)
  raise(KEY.counters, name, n or 1)
end

-- Sets an entry aside, with the reason: it cannot be read, or can no longer run. `lane`: the lane into which `readmit` puts it back.
local function set_aside(reason, raw, lane)
  local SPELLED = {['%'] = '%25', ['|'] = '%7C'}
  local kept = KEY.unreadable
  call('RPUSH', kept, NOW .. '|' .. #raw .. '@' .. string.gsub(lane, '[%%|]', SPELLED) .. '|' .. string.gsub(reason, '|', '/') .. '|' .. string.sub(raw, 1, UNREADABLE_BYTES))
  call('LTRIM', kept, -UNREADABLE_KEPT, -1)
  count('unreadable')
end
