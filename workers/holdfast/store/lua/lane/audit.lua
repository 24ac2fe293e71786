-- Find tasks whose entries another program took from a lane, and put the entries back in order. Also give back permits whose tasks do not
-- run: permits of the lane, and of some of the keys that tasks wait for.
-- Entries stand in a lane in the order of the tasks' numbers. This looks at the first WINDOW entries. A submitted task misses its entry if
-- its number is lower than the numbers of all own entries there. A call only notes such a task. The next call puts the entry back if the
-- task still misses it: the task may have moved between two pages.
-- An entry that was given back has a low number, and can hide tasks that miss theirs. A later call finds them. No task is found by mistake.
-- Any program can write entries. So an own entry counts only if the record of its task has the same number.
-- After many deaths of workers, entries with low numbers can stand behind the first WINDOW. So before an entry is put back, this searches
-- for it among the first SEARCHED entries.
-- A task that waits at a gate or for quarantine has no entry. If its index has lost it, this puts it back there.
-- KEYS: the public queue. ARGV: lane, limit, cursor ('' to begin).
-- Answers: {number of entries put back, next cursor ('' to begin again)}.
-- Keeps: I4, I16.
-- flags: allow-oom
-- use: clock task_record lane lane_front journal gates damage constants workers shared_keys
local WINDOW = 64
local SEARCHED = 1024   -- entries from the head
local COMPARED = 16     -- keys
local SEARCHES = 24     -- searches in one call: some milliseconds of the server; tasks beyond these stay noted
local PERMITS = 256     -- of a lane or a key, chosen at random
local lane, limit, cursor = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local suspects_key = KEY.audit .. lane
if call('EXISTS', KEY.gates .. lane) == 0 then call('SREM', KEY.gated, lane) end
if not is_list(lane) then return {0, ''} end   -- nothing can be put back there
if call('EXISTS', KEY.submitted .. lane, suspects_key, KEY.active .. lane, KEY.gates .. lane) == 0 then return {0, ''} end

-- Gives back a permit whose task does not run or does not exist.
local function compare_permits(permits)
  local lost = 0
  for _, id in ipairs(shared('SRANDMEMBER', permits, PERMITS)) do
    local r = read(id, 'state', 'owner')
    local runs = r[1] == 'working' and redis.pcall('HEXISTS', running_of(r[2] or ''), id) == 1
    if not runs then lost = lost + shared('SREM', permits, id) end
  end
  if lost > 0 then count('permits', lost) end
  return lost
end

if compare_permits(KEY.active .. lane) > 0 then bounds().reopen(lane) end
for _, gate in ipairs(shared('ZRANDMEMBER', KEY.gates .. lane, COMPARED)) do
  local key = string.match(gate, '^key:(.*)$')
  if key and compare_permits(KEY.keyed .. key) > 0 then bounds().open_key_gates(key) end
end

local window = front_of(lane, WINDOW)
local lowest
for _, raw in ipairs(window) do
  local id, seq = own(raw)
  if id and read(id, 'seq')[1] == seq and (not lowest or tonumber(seq) < lowest) then lowest = tonumber(seq) end
end
if not lowest and #window > 0 then return {0, ''} end   -- only foreign entries at the head: they show nothing

local function suspects()
  local from = cursor ~= '' and '(' .. cursor or '-inf'
  local to = lowest and '(' .. lowest or '+inf'
  return shared('ZRANGEBYSCORE', KEY.submitted .. lane, from, to, 'LIMIT', 0, limit)
end

local function is_there(id, seq)
  local operation = operation_of(id)   -- without an operation there is no entry to put back
  return not operation or place_in(lane, entry(id, seq, operation), SEARCHED)
end

local previous = {}
for _, key in ipairs(shared('SMEMBERS', suspects_key)) do previous[key] = true end
call('DEL', suspects_key)
local seen_twice, fresh, last = {}, 0, ''
local function suspect(key)
  shared('SADD', suspects_key, key)
  fresh = fresh + 1
end

local ids = suspects()
-- True if a task waits without an entry: at a gate, or for quarantine. If somebody has removed its index entry there, puts it back.
local function waits_beside(id, seq, solo, gate)
  if (gate or '') == '' then
    if solo == '1' and not shared('ZSCORE', KEY.suspects .. lane, id) then add_suspect(id, lane, seq) end
    return solo == '1'
  end
  if not shared('ZSCORE', held_of(lane, gate), id) then return false end
  local name = string.match(gate, '^unknown:(.*)$')
  if name then
    shared('ZADD', KEY.unknown .. lane, 'LT', seq, name)
    call('ZADD', KEY.unserved, 'NX', NOW, lane .. ' ' .. name)
  else
    shared('ZADD', KEY.gates .. lane, 'NX', NOW, gate)
    call('SADD', KEY.gated, lane)
  end
  return true
end

local function leave(id) shared('ZREM', KEY.submitted .. lane, id) end
local function look_at(id)
  local r = read(id, 'seq', 'delivery', 'solo', 'held', 'state')
  last = tonumber(r[1] or nil) and r[1] or last
  local key = id .. ':' .. (r[1] or '') .. ':' .. (r[2] or '0')
  local flaw = flaw_in(facts(id))
  if flaw then
    leave(id)   -- somebody has deleted or damaged its record
    set_task_aside(id, flaw, lane)
  elseif r[5] ~= 'submitted' then
    leave(id)   -- an error has left it here
  elseif waits_beside(id, r[1], r[3], r[4]) then
    -- it needs no entry in the lane
  elseif previous[key] then
    seen_twice[#seen_twice + 1] = {id, r[1], key}
  else
    suspect(key)
  end
end

for _, id in ipairs(ids) do each_task(id, lane, leave, look_at) end

-- The highest number goes back first: an entry at the head hides only tasks with higher numbers.
local missing, bytes = {}, 0
for i = #seen_twice, 1, -1 do
  local id, seq, key = unpack(seen_twice[i])
  if #seen_twice - i >= SEARCHES or bytes >= WINDOW_BYTES then suspect(key)
  else
    bytes = bytes + #(operation_of(id) or '')
    if not is_there(id, seq) then missing[#missing + 1] = id end
  end
end
local function put_back(id)
  note('put-back', id, 'its entry was taken from the lane')
  local gate = read(id, 'held')[1]
  if gate and gate ~= '' then leave_gate(id, lane, gate) end
  to_head(id)
end

for _, id in ipairs(missing) do each_task(id, lane, leave, put_back) end
if #missing > 0 then count('stolen', #missing) end
-- If tasks were noted for the first time, the next call looks at the same page again.
if fresh > 0 then return {#missing, cursor} end
return {#missing, #ids == limit and last or ''}
