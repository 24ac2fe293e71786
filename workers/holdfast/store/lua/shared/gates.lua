-- use: rules task_record lane clock shared_keys
-- provides: freed ring_at_the_end room_of bounds
-- Decides which tasks may start, and where the others wait. If the limit or rate of its lane keeps a task back, the task stays in the lane.
-- If its concurrency key or its handler's rate keeps it back, it waits at a gate of the lane: `key:<key>` or `name:<handler>`. A gate is
-- beside the list, so that the task does not delay others. The task is still submitted, and keeps its order. `gates:<lane>` has for each
-- gate when to look at it again; inf means: when a task of its key has ended.
-- A permit is the id of a running task in a set. It is taken with the claim, and given back when the task runs no longer, for whatever
-- reason.
-- Adding or removing an id twice has no further effect, and the set can be compared with the tasks that really run.
local freed, ring_later = {}, false   -- lanes in which something may start again; true if the caller rings them once, at its end

-- From now on no lane is rung at once: the caller rings all lanes of `freed` at its end.
local function ring_at_the_end() ring_later = true end

local function add_gates(b)
  -- Opens a lane and rings its bell, because a task may start there again.
  function b.reopen(lane)
    if b.is_paused(lane) then return end
    call('HDEL', KEY.closed, lane)
    freed[lane] = true
    if not ring_later then ring(lane) end
  end

  -- Takes the permits of a claimed task, and counts its start for the rates.
  function b.occupy(id, lane, key, name)
    local permits = ''
    if key then
      shared('SADD', KEY.keyed .. key, id)
      permits = 'k'
    end
    if b.rule('limit', lane) then
      shared('SADD', KEY.active .. lane, id)
      permits = permits .. 'l'
    end
    if permits ~= '' then write(id, 'permits', permits) end
    b.spend('rate', lane)
    if name then b.spend('name', name) end
  end

  function b.open_key_gates(key)
    for _, lane in ipairs(call('SMEMBERS', KEY.gated)) do
      if shared('ZSCORE', KEY.gates .. lane, 'key:' .. key) then   -- `shared`, because damage in another lane must not stop this task
        shared('ZADD', KEY.gates .. lane, NOW, 'key:' .. key)
        b.reopen(lane)
      end
    end
  end

  -- Gives back the permits of a task that no longer runs.
  function b.vacate(id)
    local r = read(id, 'permits', 'lane', 'concurrency_key')
    if not r[1] or r[1] == '' then return end
    b.give_back(id, r[2], r[3])
    write(id, 'permits', '')
  end

  -- Does the same for a damaged task, as far as its record names its permits.
  function b.give_back(id, lane, key)
    if lane then
      shared('SREM', KEY.active .. lane, id)
      b.reopen(lane)
    end
    if key then
      shared('SREM', KEY.keyed .. key, id)
      b.open_key_gates(key)
    end
  end

  -- Two answers: how many tasks of a lane may start now; what keeps others back: paused, limit or rate.
  function b.room_of(lane)
    if b.is_paused(lane) then return 0, 'paused' end
    local limit = b.rule('limit', lane)
    local places = whole(limit) and tonumber(limit) - shared('SCARD', KEY.active .. lane) or math.huge
    local starts = b.allowed('rate', lane)
    if places <= starts then return math.max(0, places), 'limit' end
    return math.max(0, starts), 'rate'
  end

  -- When to look at this task again, if its key or its handler's rate keeps it back now; else nil.
  function b.kept_back(lane, key, name)
    if key and shared('SCARD', KEY.keyed .. key) >= (whole(b.rule('keys', lane)) or 1) then return 'inf' end
    if name and b.allowed('name', name) < 1 then return b.ready_at('name', name) end
  end

  -- The gate at which a task would wait. A task with a key waits only at the gate of its key, whatever keeps it back. So the tasks of a key
  -- keep their order.
  local function gate_of(key, name)
    if key then return 'key:' .. key end
    return name and b.rule('name', name) and 'name:' .. name
  end

  -- The first task that waits at a gate. If none waits, the gate is removed.
  function b.first_at(lane, gate)
    local first = shared('ZRANGE', held_of(lane, gate), 0, 0)[1]
    if not first then forget_gate(lane, gate) end
    return first
  end

  -- Puts a task at its gate if the gate is closed or other tasks wait there. Answers true if it did.
  function b.hold_back(id, lane, key, name, seq)
    local gate = gate_of(key, name)
    if not gate then return false end
    local gates, held = KEY.gates .. lane, held_of(lane, gate)
    local waits = shared('ZSCORE', gates, gate)
    local at = not waits and b.kept_back(lane, key, name)
    if not waits and not at then return false end
    if at then shared('ZADD', gates, at, gate) end
    call('SADD', KEY.gated, lane)
    shared('ZADD', KEY.submitted .. lane, seq, id)
    hold_in_order(held, id, tonumber(seq))
    write(id, 'held', gate)
    return true
  end
end

local made

local function bounds()
  if not made then
    made = {}
    add_rules(made)
    add_gates(made)
  end
  return made
end

-- Answers as `room_of` above, with a single look if nothing is bounded.
local function room_of(lane)
  if not is_bounded() then return math.huge end
  return bounds().room_of(lane)
end
