-- use: journal workers
-- provides: shared size_of members_of held_of
-- Keys that tasks share: the indexes of a lane, the tasks at its gates, the permits of a lane and of a concurrency key. Only scripts write
-- them. If a key holds another type, it is removed with a reason that the operator sees, and no task or lane stops. Permits are made anew
-- from the tasks that run. The audit puts the waiting tasks back.
local function make_permits(index, name)
  for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
    for _, id in ipairs(running_ids(incarnation)) do
      local r = redis.pcall('HMGET', KEY.task .. id, 'permits', index == 'keyed:' and 'concurrency_key' or 'lane')
      local has = string.find(r[1] or '', index == 'keyed:' and 'k' or 'l', 1, true)
      if has and r[2] == name then call('SADD', T .. index .. name, id) end
    end
  end
end

-- Makes the index of a lane anew, from the first entries of its list.
local function make_index(lane)
  local ENTRIES, BYTES = 1000, 1048576
  local list = (lane == QUEUE or string.find(lane, ':', 1, true)) and lane or KEY.lane .. lane
  local bytes = 0
  for at = 0, ENTRIES - 1 do
    local raw = bytes < BYTES and redis.pcall('LINDEX', list, at)
    if type(raw) ~= 'string' then return end
    local id, seq = string.match(raw, '^{"_b":"([^:"]+):(%d+)",')
    local r = id and redis.pcall('HMGET', KEY.task .. id, 'state', 'lane', 'seq') or {}
    if r[1] == 'submitted' and r[2] == lane and r[3] == seq then call('ZADD', KEY.submitted .. lane, seq, id) end
    bytes = bytes + #raw
  end
end

-- Runs a command on such a key. If the key holds another type, removes it, and runs the command again.
local function shared(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(tostring(answer.err), 'WRONGTYPE', 1, true) then
    local index, name = string.match(string.sub(key, #T + 1), '^(%a+:)(.*)$')
    set_aside('key ' .. key .. ' held a ' .. call('TYPE', key).ok .. ' and was removed', key, QUEUE)
    call('UNLINK', key)
    if index == 'keyed:' or index == 'active:' then make_permits(index, name) end
    if index == 'submitted:' then make_index(name) end
  end
  return call(command, key, ...)
end

-- Runs a command that answers a number, in a script that may not write; 0 if the key holds another type.
local function size_of(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  return type(answer) == 'number' and answer or 0
end

-- The same for a command that answers a list; an empty list if the key holds another type.
local function members_of(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  return answer.err and {} or answer
end

-- The key of the tasks that wait at a gate of a lane, in the order of their numbers. The length of the lane's name stands before it.
-- Otherwise key `c` of lane `a:key:b` and key `b:key:c` of lane `a` would share one gate.
local function held_of(lane, gate) return KEY.held .. #lane .. ':' .. lane .. ':' .. gate end
