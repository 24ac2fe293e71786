-- use: task_record journal limits workers serving_workers clock shared_keys
-- provides: unknown
-- Tasks whose handler the worker that met them does not have wait beside their lane at the gate `unknown:<name>`, uncharged,
-- until a worker of that name takes them. Such a gate bounds nothing, and no worker looks at one of a name it does not serve.
--   unknown:<lane>: name → the lowest number at its gate. unserved: `<lane> <name>` of all gates → when it was last looked at.
--   clocks: `<lane> <name>` → for how long (ms) nobody could have served it while its lane was open, how much of that counts
--   no more, as somebody has served it since, and a task's own `unknown_at`: what the clock showed when the task came.
local function unknown()
  local serving = serving()
  local function held_at(lane, name) return held_of(lane, 'unknown:' .. name) end
  local function known_by(lane) return KEY.unknown .. lane end

  -- The time that the clock of a gate shows, and the time up to which it does not count.
  local function clock_of(lane, name)
    local shown, since = string.match(call('HGET', KEY.clocks, lane .. ' ' .. name) or '0 0', '^(%d+) (%d+)$')
    return whole(shown) or 0, whole(since) or 0
  end

  -- Wakes the workers that serve this lane and name.
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

  -- The names of this lane's gates that a worker serves which registered `names`, the lowest number first.
  local function names_for(lane, names)
    if not names or names == '*' then return shared('ZRANGE', known_by(lane), 0, GATES - 1) end
    shared('ZCARD', known_by(lane))
    return redis.pcall('ZINTER', 2, known_by(lane), KEY.names .. names, 'WEIGHTS', 1, 0)   -- of an error nothing
  end

  local function first_at(lane, name) return shared('ZRANGE', held_at(lane, name), 0, 0)[1] end

  -- The same; where none waits the gate is removed: somebody has put something else there.
  local function first_or_none(lane, name)
    local first = first_at(lane, name)
    if not first then note_lowest(held_at(lane, name), lane, name) end
    return first
  end

  -- How many wait at those gates of a lane, as far as one looks.
  local function count_for(lane, names)
    local count, served = 0, names_for(lane, names)
    for i = 1, math.min(#served, GATES) do count = count + shared('ZCARD', held_at(lane, served[i])) end
    return count
  end

  return {hold = hold, first_or_none = first_or_none, names_for = names_for, count_for = count_for, first_at = first_at, held_at = held_at, clock_of = clock_of,
    call_servers = call_servers, servers = serving.servers, all = serving.all, lanes = serving.lanes}
end
