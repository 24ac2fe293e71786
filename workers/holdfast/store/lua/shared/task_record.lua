-- use: clock workers shared_keys journal
-- provides: TERMINAL PARKED whole read write is_half_made count_unbegun count_in count_out tell_waiters park hold_in_order note_lowest forget_gate leave_gate leave_index
-- The record of a task, and the sets that hold its id by state.
local TERMINAL = {completed = true, failed = true, rejected = true, canceled = true}
local PARKED = {['input-required'] = true, ['auth-required'] = true, suspended = true}

-- A text as a number, if it is a whole number of at most 15 digits; else nil. Numbers with more digits are not exact.
local function whole(text) return text and #text <= 15 and string.find(text, '^%d+$') and tonumber(text) or nil end

-- Reads fields of a record. If the record is no hash, answers no fields: damage of one task must not stop the others of a call.
local function read(id, ...)
  local r = redis.pcall('HMGET', KEY.task .. id, ...)
  return r.err and {} or r
end

local function write(id, ...)
  call('HSET', KEY.task .. id, ...)
end

-- True for a new task that no index has, because the server has refused a command between its record and its index (a right was taken
-- away). It never ran, and its producer got an error. A task that was set aside is not one: it waits for its repair.
local function is_half_made(id)
  local r = read(id, 'state', 'lane', 'delivery', 'aside')
  return r[1] == 'submitted' and r[2] and not r[3] and not r[4] and not redis.pcall('ZSCORE', KEY.submitted .. r[2], id)
end

-- Counts a delivery that was given back before it had begun: it was no run.
local function count_unbegun(id) call('HINCRBY', KEY.task .. id, 'unbegun', 1) end

-- Counts parked and ended tasks by state. Tasks of other states are counted by the sizes of their indexes.
local function tally(state, n) raise(KEY.tally, state, n) end

-- Adds a task to the index of its state, and counts it. After an error it is counted and in the index, or neither (see end_again).
local function count_in(index, id, state, at)
  tally(state, 1)
  if type(redis.pcall('ZADD', index, at or NOW, id)) == 'number' then return end
  tally(state, -1)
  call('ZADD', index, at or NOW, id)
end

-- Removes a task from the index of its state, and from the count. After an error it is in both, or in neither.
local function count_out(index, id, state)
  tally(state, -1)
  if redis.pcall('ZREM', index, id) == 1 then return end
  tally(state, 1)   -- counted again: an earlier error, or this one, has ended the removal
  call('ZREM', index, id)
end

-- Wakes clients that wait for the task. If the user may not publish, the state is recorded all the same.
local function tell_waiters(id, what)
  redis.pcall('PUBLISH', KEY.done .. id, what)
end

-- Parks a task until it gets an answer or a resume.
local function park(id, state, reason)
  write(id, 'state', state, 'owner', '', 'due', '', 'reason', reason)
  count_in(KEY.parked, id, state)
  tell_waiters(id, state)
end

-- Adds a task to a gate, in the order of numbers. Foreign tasks may share a number; a task goes after those with the same one.
local function hold_in_order(held, id, seq)
  local last = shared('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
  shared('ZADD', held, last and math.floor(last) == seq and last + 0.000001 or seq, id)
end

-- Updates the gate of an unknown handler after a task has left it: notes the lowest number there, or removes an empty gate.
local function note_lowest(held, lane, name)
  local lowest = shared('ZRANGE', held, 0, 0, 'WITHSCORES')[2]
  if lowest then return shared('ZADD', KEY.unknown .. lane, 'XX', lowest, name) end
  shared('ZREM', KEY.unknown .. lane, name)
  call('ZREM', KEY.unserved, lane .. ' ' .. name)
  call('HDEL', KEY.clocks, lane .. ' ' .. name)
end

-- Removes a gate at which no task waits.
local function forget_gate(lane, gate)
  shared('ZREM', KEY.gates .. lane, gate)
  if call('EXISTS', KEY.gates .. lane) == 0 then call('SREM', KEY.gated, lane) end
end

-- Takes a task from its gate (see gates, unknown_handlers). `gone`: the task's record was deleted.
local function leave_gate(id, lane, gate, gone)
  local held, name = held_of(lane, gate), string.match(gate, '^unknown:(.*)$')
  shared('ZREM', held, id)
  if not gone then write(id, 'held', '') end
  if name then return note_lowest(held, lane, name) end
  if call('EXISTS', held) == 0 then forget_gate(lane, gate) end
end

-- Takes a task out of the index of its state. The index of a working task is the `running` of its owner. A submitted task at no gate leaves
-- an entry in its lane, which is stale from now on. `is_taken`: its entry was just taken.
local function leave_index(id, state, lane, owner, is_taken)
  if state == 'submitted' then
    shared('ZREM', KEY.submitted .. lane, id)
    shared('ZREM', KEY.suspects .. lane, id)
    local r = read(id, 'held', 'solo')
    if r[1] and r[1] ~= '' then leave_gate(id, lane, r[1])
    elseif r[2] ~= '1' and not is_taken then raise(KEY.stale, lane, 1) end
  elseif state == 'delayed' then
    call('ZREM', KEY.due, id)
  elseif state == 'waiting' then
    call('ZREM', KEY.waiting, id)
  elseif PARKED[state] then
    count_out(KEY.parked, id, state)
  elseif state == 'working' and owner and owner ~= '' then
    call('HDEL', running_of(owner), id)
  end
end
