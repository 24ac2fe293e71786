-- use: rules task_record lane clock shared_keys
-- provides: freed ring_at_the_end room_of bounds
-- Decides which tasks may start, and where the others wait. A task that its lane's limit or rate keeps back stays in the lane. A
-- task that its concurrency key or its handler's rate keeps back waits at a gate of the lane, `key:<key>` or `name:<handler>`, beside the
-- list, so that it keeps nobody else back: still submitted, in the order of its numbers, looked at when the gate may be
-- open again (`gates:<lane>`: gate → when; inf: when a task of the key has ended).
-- A permit is the name of a running task in a set, taken with the claim and given back when the task runs no longer,
-- however that came about: counted twice or given back twice it is still one, and a set can be compared with the truth.
local freed, ring_later = {}, false   -- a pull rings once, at its end, for lanes in which something may start again

-- From now on lanes are not rung one by one: the caller rings in all of `freed`.
local function ring_at_the_end() ring_later = true end

local function add_gates(b)
  -- Rings the lane's bell: something may start there again.
  function b.reopen(lane)
    if b.is_paused(lane) then return end
    call('HDEL', KEY.closed, lane)
    freed[lane] = true
    if not ring_later then ring(lane) end
  end

  -- Takes permits and uses rates, together with the claim.
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
      if shared('ZSCORE', KEY.gates .. lane, 'key:' .. key) then   -- of any lane: it is not the trouble of this task
        shared('ZADD', KEY.gates .. lane, NOW, 'key:' .. key)
        b.reopen(lane)
      end
    end
  end

  -- Gives the permits of a task back that no longer runs.
  function b.vacate(id)
    local r = read(id, 'permits', 'lane', 'concurrency_key')
    if not r[1] or r[1] == '' then return end
    b.give_back(id, r[2], r[3])
    write(id, 'permits', '')
  end

  -- The same of a damaged task, as far as its record says what it has.
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

  -- How many tasks of a lane may start now, and what keeps others back: paused, limit or rate.
  function b.room_of(lane)
    if b.is_paused(lane) then return 0, 'paused' end
    local limit = b.rule('limit', lane)
    local places = whole(limit) and tonumber(limit) - shared('SCARD', KEY.active .. lane) or math.huge
    local starts = b.allowed('rate', lane)
    if places <= starts then return math.max(0, places), 'limit' end
    return math.max(0, starts), 'rate'
  end

  -- When this task should be looked at again, if its key or its handler's rate keeps it back now; else nil.
  function b.kept_back(lane, key, name)
    if key and shared('SCARD', KEY.keyed .. key) >= (whole(b.rule('keys', lane)) or 1) then return 'inf' end
    if name and b.allowed('name', name) < 1 then return b.ready_at('name', name) end
  end

  -- A task with a key waits at the gate of its key alone, whatever keeps it back: so those of one key keep their order.
  local function gate_of(key, name)
    if key then return 'key:' .. key end
    return name and b.rule('name', name) and 'name:' .. name
  end

  -- The first task that waits at a gate. A gate at which none waits is none.
  function b.first_at(lane, gate)
    local first = shared('ZRANGE', held_of(lane, gate), 0, 0)[1]
    if not first then forget_gate(lane, gate) end
    return first
  end

  -- Puts a task at its gate if that is closed or others wait there. Answers whether it did.
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

-- The same as room_of above, with one look where nothing is bounded.
local function room_of(lane)
  if not is_bounded() then return math.huge end
  return bounds().room_of(lane)
end
