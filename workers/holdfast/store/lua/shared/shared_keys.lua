-- use: journal workers
-- provides: shared size_of members_of held_of
-- Keys that tasks share: the indexes of a lane, who waits at its gates, the permits of a lane and of a concurrency key. Nobody but scripts
-- writes there. One that holds something else is removed, with a reason that the operator sees, and stops no task and no lane. Permits
-- are made anew from what runs; audit puts back who has waited there.
local function make_permits(index, name)
  for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
    for _, id in ipairs(running_ids(incarnation)) do
      local r = redis.pcall('HMGET', KEY.task .. id, 'permits', index == 'keyed:' and 'concurrency_key' or 'lane')
      local has = string.find(r[1] or '', index == 'keyed:' and 'k' or 'l', 1, true)
      if has and r[2] == name then call('SADD', T .. index .. name, id) end
    end
  end
end

-- The index of a lane is made anew from the first entries there.
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

-- A command on such a key.
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

-- The same where nothing may be written: a number, 0 where something else stands there.
local function size_of(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  return type(answer) == 'number' and answer or 0
end

-- And a list, empty where something else stands there.
local function members_of(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  return answer.err and {} or answer
end

-- The key of the tasks that wait at a gate of a lane, in the order of their numbers. The length of the lane's name goes before it:
-- key `c` of lane `a:key:b` and key `b:key:c` of lane `a` are two gates.
local function held_of(lane, gate) return KEY.held .. #lane .. ':' .. lane .. ':' .. gate end
