-- Tend lanes at both ends: carry out orders (cancel, pause, resume) that were pushed to them, and remove stale entries.
-- Workers may take nothing from a lane: all slots are full, the lane is paused or at its limit, or the hosts are quiet. Reading either end
-- of a list is cheap, however long it is. An order at the tail has just come; an order at the front has waited for long.
-- An order is carried out if the record of its task exists and no foreign entry about this task stands before it among the entries read. So
-- the orders of one task keep their order, and a message that came before an order counts first. Other orders stay in the lane.
-- A stale entry is one that a worker would drop, because its task waits in no lane. All other entries stay, whatever their numbers.
-- KEYS: the public queue. ARGV: lanes.
-- Answers: {how many of these lanes, from the first on, are done; orders carried out; stale entries removed}. If not all lanes are done,
--       the call has reached its limit of work: call again with the others.
-- Keeps: I4. An order is carried out before its entry is removed. After an error in between, the order is carried out again.
-- flags: allow-oom
-- use: clock task_record lane envelope messages task_control damage doubt journal constants stale_entries shared_keys
if doubt().lasts() then return {#ARGV, 0, 0} end   -- the records may be older than the entries
local ENTRIES, BYTES = 64, 65536   -- read from each end of a lane; one entry may exceed the bytes
local SEARCHED = 1048576           -- bytes of a large entry that are searched for a task's id, in a fraction of a millisecond
local LOOKS = 1024                 -- entries of all lanes together, about; they take some milliseconds of the server
local REST_MS = 500                -- between two looks at a lane, however many stewards there are
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

-- Runs LINDEX or LSET from the nearer end of a list. Places count from the front, because an order that is carried out may submit tasks at
-- the other end.
local function at_place(command, list, turned, length, place, ...)
  local index = place < length / 2 and place or place - length
  return call(command, list, turned and -1 - index or index, ...)
end

-- Three answers: the entries near the front and near the back, in order; how many of them are near the front; true if these are all
-- entries.
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

-- Verb, task and message of an entry that may be an order; nil for any other entry. Few entries are decoded.
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

-- Collects the foreign entries that stay in the lane. `of(id)` tells whether one of those collected so far is about this task.
local function kept_back()
  local entries, done, ids, large = {}, 0, {}, {}

  -- A large entry is not decoded. It counts as being about each task whose id stands anywhere in it. If it spells letters as escapes, or is
  -- longer than SEARCHED, it counts as being about every task.
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

-- Carries out the order in an entry, if there is one and it may be carried out. Answers whether the entry is done. An order for a damaged
-- task is set aside.
local function heed(raw, lane, kept)
  local verb, id, message = order_in(raw)
  local may = verb and read(id, 'state')[1] ~= false and not kept.of(id)
  if may then each_entry(raw, lane, function() carry_out(verb, id, message, raw, lane) end) else kept.add(raw) end
  return may
end

-- True if a worker that took the own entry of this task would drop it.
local function is_stale(id)
  local r = read(id, 'state', 'solo', 'held')
  if r[1] == false then count('stale') end
  return r[1] == false or (r[1] ~= nil and (r[1] ~= 'submitted' or r[2] == '1' or (r[3] or '') ~= ''))
end

-- How many of these entries are second ones of a task.
local function count_twice(ids)
  local met, twice = {}, 0
  for _, id in ipairs(ids) do
    twice = twice + (met[id] and 1 or 0)
    met[id] = true
  end
  return twice
end

-- The highest possible count of stale entries: the entries that no submitted task needs. Tasks at gates have no entry, and are too many to
-- count.
local function most_stale(lane, length)
  if call('EXISTS', KEY.gates .. lane, KEY.unknown .. lane) > 0 then return length end
  return length - shared('ZCARD', KEY.submitted .. lane) + shared('ZCARD', KEY.suspects .. lane)
end

local function correct_stale(lane, known, exact, length)
  local stale = exact or math.max(0, math.min(known, most_stale(lane, length)))
  if stale == 0 then call('HDEL', KEY.stale, lane) else call('HSET', KEY.stale, lane, stale) end
end

-- Removes these entries by their places, because the same bytes may stand elsewhere. Answers how many of them were near the front.
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

-- Looks once at both ends. Answers true if all entries near the front were removed and others stand behind them.
local function look_once(lane, length)
  local list, turned = list_of(lane), is_turned(lane)
  local entries, at_front, are_all = look_at(list, turned, length)
  local gone, kept, ids, left_behind = {}, kept_back(), {}, 0
  for _, entry in ipairs(entries) do
    entry.id = own(entry.raw)
    if not entry.id and heed(entry.raw, lane, kept) then gone[#gone + 1] = entry end
  end
  local stale = stale_in(lane)   -- includes entries of tasks that these orders have ended or paused
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

-- Tends a lane. Answers true if the lane is done.
local function tend(lane, stale, tended)
  local length = redis.pcall('LLEN', list_of(lane))
  if type(length) ~= 'number' then return true end   -- its key holds no list; the duty that rings its bell reports that
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
