-- Tend lanes: carry out orders (cancel, pause, resume) that were pushed to them, and remove stale entries, at both ends.
-- Nobody may take entries there: all slots are full, the lane is paused or at its bound, the hosts are quiet. Both ends of a list are
-- near, however long it is: an order at its tail has just come, one at its front has waited for long.
-- An order is carried out if the record of its task exists, and nothing foreign about that task stands before it where this looks:
-- so orders of one task keep their order, and a message that came first counts first. Other orders stay where they are.
-- A stale entry is one that a worker would drop: its task waits in no lane. All others stay, whatever their numbers.
-- KEYS: the public queue. ARGV: lanes.
-- Answers: {how many of these lanes, from the first on, are done; orders carried out; stale entries removed}. Where not all lanes are
--           done, there is more than one call may do: call again with the others.
-- Keeps: I4. An order is carried out before its entry is removed: an error in between leaves it to be carried out again.
-- flags: allow-oom
-- use: clock task_record lane envelope messages task_control damage doubt journal limits stale_entries shared_keys
if doubt().lasts() then return {#ARGV, 0, 0} end   -- the records may be those of an earlier moment
local ENTRIES, BYTES = 64, 65536   -- that are looked at, from each end of a lane; one entry may exceed the bytes
local SEARCHED = 1048576           -- bytes of a large entry in which the id of a task is looked for, a fraction of a millisecond
local LOOKS = 1024                 -- entries of all lanes together, about: some milliseconds of the server
local REST_MS = 500                -- after which a lane is looked at again, however many stewards there are
local GONE = '\0this entry was removed by a look at its lane'
local looked, read_bytes, decoded_bytes, carried_out, removed = 0, 0, 0, 0, 0
local reader = envelope_reader()

local function understand(raw)
  decoded_bytes = decoded_bytes + #raw
  return reader(raw)
end

local function has_done_enough()
  return looked >= LOOKS or read_bytes >= WINDOW_BYTES or decoded_bytes >= DECODED_BYTES
end

-- LINDEX and LSET from the nearer end of a list. Places count from the front: an order that is carried out may submit tasks at the
-- other end.
local function at_place(command, list, turned, length, place, ...)
  local index = place < length / 2 and place or place - length
  return call(command, list, turned and -1 - index or index, ...)
end

-- The entries near the front and near the back, in their order; how many of them are near the front; true if these are all.
local function look_at(list, turned, length)
  local function read_from(first, step, most)
    local seen, bytes = {}, 0
    while #seen < math.min(ENTRIES, most) and bytes < BYTES do
      local place = first + step * #seen
      local raw = at_place('LINDEX', list, turned, length, place)
      seen[#seen + 1], bytes = {raw = raw, place = place}, bytes + #raw
    end
    looked, read_bytes = looked + #seen, read_bytes + bytes
    return seen
  end

  local entries = read_from(0, 1, length)
  local at_front = #entries
  local behind = read_from(length - 1, -1, length - at_front)
  for i = #behind, 1, -1 do entries[#entries + 1] = behind[i] end
  return entries, at_front, #entries == length
end

-- Verb, task and message of an entry that may be an order; nil of any other. Few are decoded.
local function order_in(raw)
  if #raw > READ_BYTES then return end
  for _, word in ipairs({'"cancel"', '"pause"', '"resume"'}) do
    if string.find(raw, word, 1, true) then
      local verb, id, message = understand(raw)
      if CONTROL[verb] then return verb, id, message end
      return
    end
  end
end

-- The tasks that foreign entries are about, which stay in the lane: `of` answers whether one of them, up to a place, is about a task.
local function kept_back()
  local entries, done, ids, large = {}, 0, {}, {}

  -- A large entry is not decoded: it is about each task whose id stands anywhere in it, since its own may stand in the middle. One that
  -- spells letters as escapes, or exceeds what is searched, is about any.
  local function note(raw)
    if #raw > READ_BYTES then
      large[#large + 1] = raw
      return
    end
    local _, id = understand(raw)
    if id then ids[id] = true end
  end

  local function names(raw, id)
    return #raw > SEARCHED or string.find(raw, id, 1, true) or string.find(raw, '\\u00[2-7]') or false
  end

  local function add(raw) entries[#entries + 1] = raw end

  local function of(id)
    for i = done + 1, #entries do note(entries[i]) end
    done = #entries
    for _, raw in ipairs(large) do
      if names(raw, id) then return true end
    end
    return ids[id] ~= nil
  end

  return {add = add, of = of}
end

local function carry_out(verb, id, message, raw, lane)
  if is_for_damaged(id, raw, lane) then return end
  if message == '' then CONTROL[verb](id, 'asked on the queue')
  else refuse(answer_task(id, raw, message, 'f' .. redis.sha1hex(raw)), id, message, raw, lane) end
  carried_out = carried_out + 1
end

-- Carries the order in an entry out, if it is one and may be. Answers whether the entry is done: one for a damaged task is set aside.
local function heed(raw, lane, kept)
  local verb, id, message = order_in(raw)
  local may = verb and read(id, 'state')[1] ~= false and not kept.of(id)
  if may then each_entry(raw, lane, function() carry_out(verb, id, message, raw, lane) end) else kept.add(raw) end
  return may
end

-- True if a worker that took this own entry would drop it.
local function is_stale(id)
  local r = read(id, 'state', 'solo', 'held')
  if r[1] == false then count('stale') end
  return r[1] == false or (r[1] ~= nil and (r[1] ~= 'submitted' or r[2] == '1' or (r[3] or '') ~= ''))
end

-- The number of entries whose task has another one.
local function count_twice(ids)
  local met, twice = {}, 0
  for _, id in ipairs(ids) do
    twice = twice + (met[id] and 1 or 0)
    met[id] = true
  end
  return twice
end

-- The most that the count of stale entries can be: the entries that no submitted task needs. Tasks at gates have no entry; they are
-- too many to count.
local function most_stale(lane, length)
  if call('EXISTS', KEY.gates .. lane, KEY.unknown .. lane) > 0 then return length end
  return length - shared('ZCARD', KEY.submitted .. lane) + shared('ZCARD', KEY.suspects .. lane)
end

local function correct_stale(lane, known, exact, length)
  local stale = exact or math.max(0, math.min(known, most_stale(lane, length)))
  if stale == 0 then call('HDEL', KEY.stale, lane) else call('HSET', KEY.stale, lane, stale) end
end

-- Removes these entries, by their places: the same bytes may stand elsewhere. Answers how many of them were near the front.
local function remove(list, turned, gone, at_front)
  local front, back, length = 0, 0, #gone > 0 and call('LLEN', list) or 0
  for _, entry in ipairs(gone) do
    at_place('LSET', list, turned, length, entry.place, GONE)
    if entry.place < at_front then front = front + 1 else back = back + 1 end
  end
  if front > 0 then call('LREM', list, turned and -front or front, GONE) end
  if back > 0 then call('LREM', list, turned and back or -back, GONE) end
  return front
end

-- One look at both ends. Answers whether all entries near the front went, and others stand behind them.
local function look_once(lane, length)
  local list, turned = list_of(lane), is_turned(lane)
  local entries, at_front, are_all = look_at(list, turned, length)
  local gone, kept, ids, left_behind = {}, kept_back(), {}, 0
  for _, entry in ipairs(entries) do
    entry.id = own(entry.raw)
    if not entry.id and heed(entry.raw, lane, kept) then gone[#gone + 1] = entry end
  end
  local stale = stale_in(lane)   -- with those that the orders have left behind
  for _, entry in ipairs(stale > 0 and entries or {}) do
    if entry.id and is_stale(entry.id) then
      gone[#gone + 1], left_behind = entry, left_behind + 1
    elseif entry.id then
      ids[#ids + 1] = entry.id
    end
  end
  local front = remove(list, turned, gone, at_front)
  removed = removed + left_behind
  if stale > 0 then correct_stale(lane, stale - left_behind, are_all and count_twice(ids) or nil, call('LLEN', list)) end
  return front > 0 and front == at_front and not are_all
end

local told = {stale = call('HMGET', KEY.stale, unpack(ARGV)), tended = call('HMGET', KEY.tended, unpack(ARGV))}

-- Answers whether a lane is done.
local function tend(lane, stale, tended)
  local length = redis.pcall('LLEN', list_of(lane))
  if type(length) ~= 'number' then return true end   -- somebody made it something else than a list; its bell tells it
  if length == 0 then
    if stale then call('HDEL', KEY.stale, lane) end
    if tended then call('HDEL', KEY.tended, lane) end
    return true
  end
  if tended and math.abs(NOW - (tonumber(tended) or 0)) < REST_MS then return true end
  while look_once(lane, length) do
    length = call('LLEN', list_of(lane))
    if has_done_enough() then return false end
  end
  call('HSET', KEY.tended, lane, NOW)
  return true
end

for i, lane in ipairs(ARGV) do
  if has_done_enough() or not tend(lane, told.stale[i], told.tended[i]) then return {i - 1, carried_out, removed} end
end
return {#ARGV, carried_out, removed}
