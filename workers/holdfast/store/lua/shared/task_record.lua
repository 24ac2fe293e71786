-- use: clock gate_keys workers
-- provides: TERMINAL PARKED read write tally tell_waiters park hold_in_order note_lowest leave_gate leave_index
-- The task record, and the sets that hold its id by state.
local TERMINAL = {completed = true, failed = true, rejected = true, canceled = true}
local PARKED = {['input-required'] = true, ['auth-required'] = true, suspended = true}

-- Nothing where the record is no hash: somebody has damaged it, which is not the trouble of the others in a batch.
local function read(id, ...)
  local r = redis.pcall('HMGET', T .. 'task:' .. id, ...)
  return r.err and {} or r
end

local function write(id, ...)
  call('HSET', T .. 'task:' .. id, ...)
end

-- How many records are parked or ended, by state (the other states are counted by their indexes).
local function tally(state, n) call('HINCRBY', T .. 'tally', state, n) end

-- Who waits for the task looks again.
local function tell_waiters(id, what)
  call('PUBLISH', T .. 'done:' .. id, what)
end

-- Keep a task that waits for somebody: an answer, or a resume.
local function park(id, state, reason)
  write(id, 'state', state, 'owner', '', 'due', '', 'reason', reason)
  call('ZADD', T .. 'parked', NOW, id)
  tally(state, 1)
  tell_waiters(id, state)
end

-- In the order of numbers. Foreign tasks share a number: behind one with the same it goes behind.
local function hold_in_order(held, id, seq)
  local last = call('ZRANGE', held, -1, -1, 'WITHSCORES')[2]
  call('ZADD', held, last and math.floor(last) == seq and last + 0.000001 or seq, id)
end

-- After somebody has left the gate of an unknown handler: the lowest number there, or nobody is left.
local function note_lowest(held, lane, name)
  local lowest = call('ZRANGE', held, 0, 0, 'WITHSCORES')[2]
  if lowest then return call('ZADD', T .. 'unknown:' .. lane, 'XX', lowest, name) end
  call('ZREM', T .. 'unknown:' .. lane, name)
  call('ZREM', T .. 'unserved', lane .. ' ' .. name)
  call('HDEL', T .. 'clocks', lane .. ' ' .. name)
end

-- From the gate at which it waited, beside its lane: see gates, unknown. `gone`: its record is.
local function leave_gate(id, lane, gate, gone)
  local held, name = held_of(lane, gate), string.match(gate, '^unknown:(.*)$')
  remove_held(id, lane, gate)
  if not gone then write(id, 'held', '') end
  if name then note_lowest(held, lane, name) end
  if call('EXISTS', held) == 1 then return end
  call('ZREM', T .. 'gates:' .. lane, gate)
  if call('EXISTS', T .. 'gates:' .. lane) == 0 then call('SREM', T .. 'gated', lane) end
end

-- Take a task out of the index of the state it is in. A working task's index is its owner's `running`.
local function leave_index(id, state, lane, owner)
  if state == 'submitted' then
    call('ZREM', T .. 'submitted:' .. lane, id)
    call('ZREM', T .. 'suspects:' .. lane, id)
    call('ZREM', T .. 'solo', id)
    local gate = read(id, 'held')[1]
    if gate and gate ~= '' then leave_gate(id, lane, gate) end
  elseif state == 'delayed' then
    call('ZREM', T .. 'due', id)
  elseif state == 'waiting' then
    call('ZREM', T .. 'waiting', id)
  elseif PARKED[state] then
    call('ZREM', T .. 'parked', id)
    tally(state, -1)
  elseif state == 'working' and owner and owner ~= '' then
    call('HDEL', running_of(owner), id)
  end
end
