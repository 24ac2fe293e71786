-- use: task_record journal constants workers serving_workers clock shared_keys
-- provides: unknown
-- If a worker meets a task whose handler it does not have, the task waits beside its lane, at the gate `unknown:<name>`, until a worker
-- with this handler takes it. Nothing counts as a failure. Such a gate bounds nothing, and a worker looks only at the gates of its own
-- handlers.
--   unknown:<lane>: name → the lowest number at its gate. unserved: `<lane> <name>` of all gates → when it was last looked at.
--   clocks: `<lane> <name>` → two times in ms: for how long nobody could have served the gate while its lane was open; how much of that no
--   longer
--   counts, because somebody has served it since. A task's field `unknown_at` is what the clock showed when the task came.
local function unknown()
  local serving = serving()
  local function held_at(lane, name) return held_of(lane, 'unknown:' .. name) end
  local function known_by(lane) return KEY.unknown .. lane end

  -- Two answers: the time that the clock of a gate shows; the time up to which it no longer counts.
  local function clock_of(lane, name)
    local shown, since = string.match(call('HGET', KEY.clocks, lane .. ' ' .. name) or '0 0', '^(%d+) (%d+)$')
    return whole(shown) or 0, whole(since) or 0
  end

  -- Wakes the workers that serve this lane and handler.
  local function call_servers(lane, name)
    for _, worker in ipairs(serving.servers(lane, name)) do
      if not worker.quiet and call('LLEN', KEY.control .. worker.incarnation) == 0 then hint(worker.incarnation, 'look') end
    end
  end

  local function hold(id, lane, name, seq)
    shared('ZADD', KEY.submitted .. lane, seq, id)
    hold_in_order(held_at(lane, name), id, tonumber(seq))
    shared('ZADD', known_by(lane), 'LT', seq, name)
    call('ZADD', KEY.unserved, 'NX', NOW, lane .. ' ' .. name)
    write(id, 'held', 'unknown:' .. name, 'unknown_at', (clock_of(lane, name)))
    note('unknown-handler', id, name)
  end

  -- The handlers with a gate in this lane that a worker with the registered `names` can serve, the lowest number first.
  local function names_for(lane, names)
    if not names or names == '*' then return shared('ZRANGE', known_by(lane), 0, GATES - 1) end
    shared('ZCARD', known_by(lane))
    return redis.pcall('ZINTER', 2, known_by(lane), KEY.names .. names, 'WEIGHTS', 1, 0)   -- an error has no elements
  end

  local function first_at(lane, name) return shared('ZRANGE', held_at(lane, name), 0, 0)[1] end

  -- The first task at this gate. If none waits, the gate is removed.
  local function first_or_none(lane, name)
    local first = first_at(lane, name)
    if not first then note_lowest(held_at(lane, name), lane, name) end
    return first
  end

  -- How many tasks wait at these gates of a lane; at most GATES gates are counted.
  local function count_for(lane, names)
    local count, served = 0, names_for(lane, names)
    for i = 1, math.min(#served, GATES) do count = count + shared('ZCARD', held_at(lane, served[i])) end
    return count
  end

  return {hold = hold, first_or_none = first_or_none, names_for = names_for, count_for = count_for, first_at = first_at, held_at = held_at, clock_of = clock_of,
    call_servers = call_servers, servers = serving.servers, all = serving.all, lanes = serving.lanes}
end
