-- use: task_record clock constants journal agenda workers shared_keys
-- provides: HIGHEST list_of is_turned on_lane ring entry own add_suspect operation_of to_tail to_head owned_last_first to_later begin
-- provides: is_list require_places rung
-- A lane: a list of entries, a bell, and a sequence of numbers. An own entry is the producer's operation with one more key in front, `_b`.
local function list_of(lane)
  if lane == QUEUE or string.find(lane, ':', 1, true) then return lane end
  return KEY.lane .. lane
end

-- True if the lane is turned (`end=tail`, for producers that LPUSH): its front is the tail of its list.
local any_turned
local function is_turned(lane)
  if any_turned == nil then any_turned = call('EXISTS', KEY.turned) == 1 end
  return any_turned and call('SISMEMBER', KEY.turned, lane) == 1
end

-- Runs LPUSH, RPUSH or LPOP on a lane; left is the front.
local function on_lane(command, lane, ...)
  if is_turned(lane) then command = command == 'LPOP' and 'RPOP' or command == 'LPUSH' and 'RPUSH' or 'LPUSH' end
  return call(command, list_of(lane), ...)
end

local rung = {}   -- lanes that this call has rung; no worker hears the bell before the call ends

-- Rings the bell of a lane, unless the lane is closed (paused, or at its limit). The call that opens a closed lane rings it.
local function ring(lane)
  if rung[lane] then return end
  local bell = KEY.bell .. lane
  local rings = redis.pcall('LLEN', bell)
  if rings == BELLS then return end
  if rings ~= 0 then call('UNLINK', bell) end   -- another program wrote there
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

-- Puts an entry at the front, after entries with lower numbers, because several workers may give back in any order.
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

-- True if a lane's key holds a list, or nothing. In any other lane a task would be made only in part.
local lists = {}
local function is_list(lane)
  if lists[lane] == nil then
    local answer = redis.pcall('LLEN', list_of(lane))
    lists[lane] = type(answer) == 'number'
  end
  return lists[lane]
end

-- Makes a task submitted, and puts its entry into the lane. `operation`: given for a task that was just made; its record has no fields to
-- be emptied, and stays small. The index is written first, so that after an error an index still has the task.
local function enqueue(id, lane, seq, solo, push, operation)
  shared('ZADD', KEY.submitted .. lane, seq, id)
  if operation then write(id, 'seq', seq) else write(id, 'state', 'submitted', 'seq', seq, 'owner', '', 'due', '', 'queued', NOW) end
  if solo == '1' then   -- the lane is not rung, because workers that wait for its bell take no suspects
    return add_suspect(id, lane, seq)
  end
  local body = operation or operation_of(id)
  -- A task without an operation cannot run, and a key that is no list takes no entry. The task stays submitted, and later tasks go on.
  if not body or not is_list(lane) then return end
  if push == 'LPUSH' then to_front(lane, entry(id, seq, body), seq) else on_lane(push, lane, entry(id, seq, body)) end
  ring(lane)
end

-- The next number of a lane. If somebody has written another text there: one more than the highest number that waits or was taken.
local HIGHEST = 90000000000000   -- a much larger number would get an exponent when written as text
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

-- Puts a task at the tail of its lane, under a new number. `lane` and `operation`: given for a task that was just made.
local function to_tail(id, lane, operation)
  local solo
  if not lane then lane, solo = unpack(read(id, 'lane', 'solo')) end
  enqueue(id, lane, next_number(lane), solo, 'RPUSH', operation)
end

-- Puts a task back at its place near the head, under its old number, so that the lane stays in order for the audit. If others wait at the
-- gate of its concurrency key, the task goes to this gate, before them.
local function to_head(id)
  local r = read(id, 'lane', 'solo', 'seq', 'concurrency_key')
  local gate = r[4] and r[2] ~= '1' and 'key:' .. r[4]
  if not gate or not shared('ZSCORE', KEY.gates .. r[1], gate) then return enqueue(id, r[1], r[3], r[2], 'LPUSH') end
  write(id, 'state', 'submitted', 'owner', '', 'due', '', 'queued', NOW, 'held', gate)
  shared('ZADD', KEY.submitted .. r[1], r[3], id)
  shared('ZADD', held_of(r[1], gate), r[3], id)
  ring(r[1])
end

-- The tasks of an incarnation for which `wanted(id, claim)` is true, in the order in which they go back to the head: the highest number
-- first. Foreign tasks may share a number; of these, the one claimed last comes first.
local function owned_last_first(incarnation, wanted)
  local held, running = {}, redis.pcall('HGETALL', running_of(incarnation))   -- an error has no elements
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

-- Makes a task delayed until `due` (ms).
local function to_later(id, due)
  call('ZADD', KEY.due, due, id)
  write(id, 'state', 'delayed', 'owner', '', 'due', due)
  note('delayed', id, due)
  alarm(KEY.due, id)
end

local function begin(id, at, lane, operation)
  if at > NOW then to_later(id, at) else to_tail(id, lane, operation) end
end

-- Raises the server's error if a key that a new task of this lane needs holds another type. This comes before the record is written.
-- `is_later`: the task is delayed, and needs no key of the lane yet.
local placed = {}
local function require_places(lane, is_later)
  local place = is_later and '' or lane
  if placed[place] then return end
  call('HINCRBY', KEY.counters, 'accepted', 0)   -- an error also if the field is no number
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
