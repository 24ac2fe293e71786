-- use: task_record clock limits journal agenda workers shared_keys
-- provides: HIGHEST list_of is_turned on_lane ring entry own add_suspect operation_of to_tail to_head owned_last_first to_later begin
-- provides: is_list require_places rung
-- A lane: a list of entries, a bell, a sequence. Own entries are the producer's bytes with one more key in front.
local function list_of(lane)
  if lane == QUEUE or string.find(lane, ':', 1, true) then return lane end
  return KEY.lane .. lane
end

-- True for a turned lane. The front of a turned lane (`end=tail`, for producers that LPUSH) is the tail of its list.
local any_turned
local function is_turned(lane)
  if any_turned == nil then any_turned = call('EXISTS', KEY.turned) == 1 end
  return any_turned and call('SISMEMBER', KEY.turned, lane) == 1
end

-- LPUSH, RPUSH or LPOP, where left is the front.
local function on_lane(command, lane, ...)
  if is_turned(lane) then command = command == 'LPOP' and 'RPOP' or command == 'LPUSH' and 'RPUSH' or 'LPUSH' end
  return call(command, list_of(lane), ...)
end

local rung = {}   -- lanes whose bell waits to be heard: in one call that stays so

-- In a lane that is closed (paused, or at its limit) nothing can start: whoever opens it rings.
local function ring(lane)
  if rung[lane] then return end
  local bell = KEY.bell .. lane
  local rings = redis.pcall('LLEN', bell)
  if rings == BELLS then return end
  if rings ~= 0 then call('UNLINK', bell) end   -- somebody else has written there
  if call('HEXISTS', KEY.closed, lane) == 0 then rung[lane] = call('RPUSH', bell, '1') end
end

local function entry(id, seq, operation)
  local brace = string.find(operation, '{', 1, true)
  return '{"_b":"' .. id .. ':' .. seq .. '",' .. string.sub(operation, brace + 1)
end

-- The task id and number of an own entry; nil for a foreign entry.
local function own(raw)
  return string.match(raw, '^{"_b":"([^:"]+):(%d+)",')
end

-- Adds a suspect beside the list of its lane (see suspect_queue).
local function add_suspect(id, lane, seq) shared('ZADD', KEY.suspects .. lane, seq, id) end

-- The operation from which the task's entry is made; nil if it is damaged.
local function operation_of(id)
  local operation = redis.pcall('GET', KEY.op .. id)
  return type(operation) == 'string' and string.find(operation, '{', 1, true) and operation or nil
end

-- Puts an entry at the front, behind those with lower numbers: several workers may give back in any order.
local function to_front(lane, raw, seq)
  local LOOKED_PAST = 64
  local list, turned, behind = list_of(lane), is_turned(lane), nil
  for i = 0, LOOKED_PAST - 1 do
    local other = call('LINDEX', list, turned and -1 - i or i)
    local _, number = own(other or '')
    if not number or tonumber(number) >= tonumber(seq) then break end
    behind = other
  end
  if behind then call('LINSERT', list, turned and 'BEFORE' or 'AFTER', behind, raw) else on_lane('LPUSH', lane, raw) end
end

-- True if a lane's key holds a list, or nothing yet. A task in any other lane would be half made.
local lists = {}
local function is_list(lane)
  if lists[lane] == nil then
    local answer = redis.pcall('LLEN', list_of(lane))
    lists[lane] = type(answer) == 'number'
  end
  return lists[lane]
end

-- With `operation` it was just made: nothing of its record is to be emptied, and a record without empty fields is smaller.
-- The index comes first: an error leaves no state that no index knows.
local function enqueue(id, lane, seq, solo, push, operation)
  shared('ZADD', KEY.submitted .. lane, seq, id)
  if operation then write(id, 'seq', seq) else write(id, 'state', 'submitted', 'seq', seq, 'owner', '', 'due', '', 'queued', NOW) end
  if solo == '1' then   -- its lane is not rung: suspects are for no worker that waits for its bell
    return add_suspect(id, lane, seq)
  end
  local body = operation or operation_of(id)
  -- It cannot run, or its lane is no list: it stays submitted, and those behind it go on.
  if not body or not is_list(lane) then return end
  if push == 'LPUSH' then to_front(lane, entry(id, seq, body), seq) else on_lane(push, lane, entry(id, seq, body)) end
  ring(lane)
end

-- The next number of a lane. Where somebody has written something else, it is the one behind the highest that waits or was taken.
local HIGHEST = 90000000000000   -- as text a much larger one has an exponent
local function next_number(lane)
  local number = redis.pcall('HINCRBY', KEY.seq, lane, 1)
  if type(number) == 'number' and number > 0 and number < HIGHEST then return number end
  if type(number) ~= 'number' and not string.find(tostring(number.err), 'integer', 1, true) then return call('HINCRBY', KEY.seq, lane, 1) end
  number = 0
  for _, known in ipairs({shared('ZRANGE', KEY.submitted .. lane, -1, -1, 'WITHSCORES')[2] or '0', call('HGET', KEY.heads, lane) or '0'}) do
    known = tonumber(known) or 0
    if known > number and known < HIGHEST then number = math.floor(known) end
  end
  call('HSET', KEY.seq, lane, string.format('%.0f', number + 1))
  return number + 1
end

-- Puts a task at the tail, under a new number. `lane` and `operation`: of a task that was just made.
local function to_tail(id, lane, operation)
  local solo
  if not lane then lane, solo = unpack(read(id, 'lane', 'solo')) end
  enqueue(id, lane, next_number(lane), solo, 'RPUSH', operation)
end

-- Puts a task back at its place near the head, under its old number: the list stays sorted, so audit can trust it. If others wait for the same
-- concurrency key, it goes before them.
local function to_head(id)
  local r = read(id, 'lane', 'solo', 'seq', 'concurrency_key')
  local gate = r[4] and r[2] ~= '1' and 'key:' .. r[4]
  if not gate or not shared('ZSCORE', KEY.gates .. r[1], gate) then return enqueue(id, r[1], r[3], r[2], 'LPUSH') end
  write(id, 'state', 'submitted', 'owner', '', 'due', '', 'queued', NOW, 'held', gate)
  shared('ZADD', KEY.submitted .. r[1], r[3], id)
  shared('ZADD', held_of(r[1], gate), r[3], id)
  ring(r[1])
end

-- The tasks that an incarnation owns, filtered by `wanted(id, claim)`, in the order in which they go back to the head: the lowest
-- number last. Foreign tasks share a number; of those, the last one claimed goes first.
local function owned_last_first(incarnation, wanted)
  local held, running = {}, redis.pcall('HGETALL', running_of(incarnation))   -- of an error nothing
  for i = 1, #running, 2 do
    local id, claim = running[i], running[i + 1]
    if not wanted or wanted(id, claim) then
      held[#held + 1] = {id = id, claim = claim, seq = whole(read(id, 'seq')[1]) or 0, place = i}
    end
  end
  table.sort(held, function(a, b)
    if a.seq ~= b.seq then return a.seq > b.seq end
    return a.place > b.place
  end)
  return held
end

-- Delays a task until `due`.
local function to_later(id, due)
  call('ZADD', KEY.due, due, id)
  write(id, 'state', 'delayed', 'owner', '', 'due', due)
  note('delayed', id, due)
  alarm(KEY.due, id)
end

local function begin(id, at, lane, operation)
  if at > NOW then to_later(id, at) else to_tail(id, lane, operation) end
end

-- Raises the server's error where a key that a new task of this lane touches holds something else, before its record is written.
-- `is_later`: it is delayed, and touches no key of the lane yet.
local placed = {}
local function require_places(lane, is_later)
  local place = is_later and '' or lane
  if placed[place] then return end
  call('HINCRBY', KEY.counters, 'accepted', 0)   -- a number, too
  call('XREVRANGE', KEY.events, '+', '-', 'COUNT', 1)
  call('ZCARD', KEY.cancels)
  if is_later then
    call('ZCARD', KEY.due)
    call('LLEN', KEY.steward_control)
  else
    call('HLEN', KEY.seq)
    shared('ZCARD', KEY.submitted .. lane)
    call('HLEN', KEY.closed)
    is_turned(lane)
  end
  placed[place] = true
end
