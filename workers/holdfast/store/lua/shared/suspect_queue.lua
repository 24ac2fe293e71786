-- use: task_record gates clock constants rules workers damage shared_keys
-- provides: suspects
-- Suspects wait in `suspects:<lane>`, beside the list, in the order of their numbers. A quarantine worker claims one of them and nothing
-- else.
-- A suspect that its key or its handler's rate keeps back waits at that gate. When it is the first there and the gate is open, it stands
-- among the suspects as well, and no other task passes this gate before it.
-- The functions are defined inside one function, because few calls need them.
local function suspects()
  local RECHECK_MS = 1000   -- after this time a gate whose first task is a suspect is looked at again, because another task may be the first by then

  local function remove(id, lane) shared('ZREM', KEY.suspects .. lane, id) end

  -- Puts the first task of an open gate among the suspects.
  local function offer(id, lane, gate)
    shared('ZADD', KEY.suspects .. lane, read(id, 'seq')[1], id)
    shared('ZADD', KEY.gates .. lane, NOW + RECHECK_MS, gate)
  end

  local function offer_gates(lane)
    for _, gate in ipairs(shared('ZRANGEBYSCORE', KEY.gates .. lane, '-inf', NOW, 'LIMIT', 0, GATES)) do
      local id = bounds().first_at(lane, gate)
      local r = id and read(id, 'solo', 'seq')
      if id and r[1] == '1' and tonumber(r[2] or '') then offer(id, lane, gate) end
    end
  end

  -- {state, solo, seq, key, handler's name, gate, alone} of a suspect that waits in this lane. If its record says otherwise, removes it
  -- from the suspects and answers nil.
  local function facts_of(id, lane, seq)
    local r = read(id, 'state', 'solo', 'seq', 'concurrency_key', 'name', 'held', 'alone')
    if r[1] == 'submitted' and r[2] == '1' and r[3] and tonumber(r[3]) == tonumber(seq) then return r end
    remove(id, lane)
  end

  -- True if nothing keeps a suspect back. Otherwise it goes to its gate, or stays there.
  local function may_start(id, lane, r)
    local key, name, gate = r[4], r[5], r[6]
    if not key and not is_bounded() then return true end
    if not gate or gate == '' then
      local kept_back = bounds().hold_back(id, lane, key, name, r[3])
      if kept_back then remove(id, lane) end
      return not kept_back
    end
    local at = bounds().kept_back(lane, key, name)
    if at then
      shared('ZADD', KEY.gates .. lane, at, gate)
      remove(id, lane)
    end
    return not at
  end

  -- Calls `visit(id, lane, facts)` for suspects of a lane that may start now, until it answers 'enough' or `most` were looked at. After the
  -- answer 'counts' the suspect uses up one place of the lane. Answers how many looks are left, 0 after 'enough'.
  local function visit_lane(lane, most, visit)
    if call('EXISTS', KEY.suspects .. lane, KEY.gates .. lane) == 0 then return most end
    local room = room_of(lane)
    if room < 1 then return most end
    offer_gates(lane)
    local function leave(id) remove(id, lane) end
    local function visit_one(id, seq)
      local r = facts_of(id, lane, seq)
      return r and may_start(id, lane, r) and visit(id, lane, r)
    end

    local found = shared('ZRANGE', KEY.suspects .. lane, 0, most - 1, 'WITHSCORES')
    for i = 1, #found, 2 do
      most = most - 1
      local answer = each_task(found[i], lane, leave, visit_one, found[i + 1])
      if answer == 'enough' then return 0 end
      if answer == 'counts' then room = room - 1 end
      if room < 1 then return most end
    end
    return most
  end

  -- Visits several lanes. Each call begins with another lane, so that no lane always waits for the others.
  local function visit_all(lanes, visit)
    local most = SUSPECTS
    for i = 1, #lanes do
      if most <= 0 then return end
      most = visit_lane(lanes[(NOW + i) % #lanes + 1], most, visit)
    end
  end

  -- Removes a claimed suspect from the suspects and from its gate. The gate is looked at again, because the next task there may start.
  local function leave(id, lane, gate)
    remove(id, lane)
    if not gate or gate == '' then return end
    leave_gate(id, lane, gate)
    if shared('ZSCORE', KEY.gates .. lane, gate) then
      shared('ZADD', KEY.gates .. lane, NOW, gate)
      bounds().reopen(lane)
    end
  end

  -- Two answers: true if another quarantine worker of this host runs a task; true if one of these tasks has to run alone.
  local function others_run(incarnation, host)
    local any, apart = false, false
    for _, other in ipairs(call('SMEMBERS', KEY.quarantine)) do
      if other ~= incarnation and facts_of_worker(other, 'host')[1] == host then
        for _, id in ipairs(running_ids(other)) do
          any, apart = true, apart or read(id, 'alone')[1] == '1'
        end
      end
    end
    return any, apart
  end

  return {offer = offer, visit_all = visit_all, leave = leave, others_run = others_run}
end
