-- use: task_record
-- provides: parent_results
-- Results of parents. The hash `parents` of a child has for each parent `<place in after>`; after the parent's end, `<place> <ms of its
-- end>`.
-- The outcome of a parent is noted once for all its children, in the hash `outcome`: state, reason, turn, and a field for each child. The
-- result itself stays with the parent. When the parent's record is deleted, the result moves to the key `given`. Both keys are deleted with
-- the last of these children.
local function parent_results()
  local OF_PARENT = 3   -- fields of an outcome that are not about children
  local function child_field(id) return 'child:' .. id end
  local function name_of(parent, finished) return parent .. ':' .. finished end
  local function parents_of(id) return redis.pcall('HGETALL', KEY.parents .. id) end

  -- Notes the parents of a new task, in the order of its `after`.
  local function expect(id, parents)
    for place, parent in ipairs(parents) do call('HSET', KEY.parents .. id, parent, place) end
  end

  -- Gives a child the outcome of this parent.
  local function give(id, parent)
    local noted = redis.pcall('HGET', KEY.parents .. id, parent)
    local place = type(noted) == 'string' and string.match(noted, '^%d+')
    if not place then return end
    local r = read(parent, 'state', 'finished', 'turn', 'reason')
    local finished = r[1] and r[2] or '0'
    local key = KEY.outcome .. name_of(parent, finished)
    if call('EXISTS', key) == 0 then
      call('HSET', key, 'state', r[1] or 'gone', 'reason', r[4] or '', 'turn', r[3] or '')
      if r[1] then write(parent, 'given', 1) end
    end
    redis.pcall('HSET', key, child_field(id), '')   -- not the trouble of others, if somebody has damaged it
    call('HSET', KEY.parents .. id, parent, place .. ' ' .. finished)
  end

  -- The state of the outcome of this parent that the child has; nil if it has none.
  local function given(id, parent)
    local noted = redis.pcall('HGET', KEY.parents .. id, parent)
    local finished = type(noted) == 'string' and string.match(noted, '^%d+ (%d+)$')
    local state = finished and redis.pcall('HGET', KEY.outcome .. name_of(parent, finished), 'state')
    return type(state) == 'string' and state or nil
  end

  -- Gives the retry of a child the same outcomes.
  local function give_again(id, new)
    local known = parents_of(id)
    for i = 1, #known, 2 do
      local parent, finished = known[i], string.match(known[i + 1], '^%d+ (%d+)$')
      call('HSET', KEY.parents .. new, parent, known[i + 1])
      local state = read(parent, 'state')[1]
      if finished then
        local key = KEY.outcome .. name_of(parent, finished)
        if call('EXISTS', key) == 1 then redis.pcall('HSET', key, child_field(new), '') end
      elseif not state or TERMINAL[state] then give(new, parent) end
    end
  end

  -- Restores the outcome of one parent for this child, from a ledger.
  local function put_back(id, parent, noted, state, reason, turn, result)
    call('HSET', KEY.parents .. id, parent, noted)
    local finished = string.match(noted, '^%d+ (%d+)$')
    if not finished then return end
    local name = name_of(parent, finished)
    if call('HSETNX', KEY.outcome .. name, 'state', state) == 1 then
      call('HSET', KEY.outcome .. name, 'reason', reason, 'turn', turn)
      if result ~= '' then call('SET', KEY.given .. name, result) end
    end
    call('HSET', KEY.outcome .. name, child_field(id), '')
  end

  -- Keeps the result of a task for its children, when its record is deleted.
  local function keep(id, finished, turn)
    local name = name_of(id, finished or '0')
    local result = KEY.result .. id .. ':' .. turn
    if call('EXISTS', KEY.outcome .. name) == 1 and call('EXISTS', result) == 1 then call('RENAME', result, KEY.given .. name) end
  end

  -- Forgets a child, and each outcome that no other child has. Answers how many parents it had.
  local function release(id)
    local known = parents_of(id)
    for i = 1, #known, 2 do
      local finished = string.match(known[i + 1], '^%d+ (%d+)$')
      local name = finished and name_of(known[i], finished)
      local key = name and KEY.outcome .. name
      if key and redis.pcall('HDEL', key, child_field(id)) == 1 and call('HLEN', key) <= OF_PARENT then
        call('UNLINK', key, KEY.given .. name)
      end
    end
    call('UNLINK', KEY.parents .. id)
    return #known / 2
  end

  -- Reads the outcome of a parent from its record, for a child that has not been told of the parent's end.
  local function found_there(parent, place)
    local r = read(parent, 'state', 'reason', 'turn')
    if not TERMINAL[r[1]] then return place, r[1] or 'gone' end
    return place, r[1], r[2] or '', r[3] or '', KEY.result .. parent .. ':' .. (r[3] or '')
  end

  -- The outcome of a parent for a child: place, state, reason, turn, and the key of the result. Place and state alone if the parent has not
  -- ended. The key is nil if there is no result, or somebody has deleted it.
  local function found(parent, noted)
    local place, finished = string.match(noted, '^(%d+) ?(%d*)$')
    if finished == '' then return found_there(parent, tonumber(place)) end
    local name = name_of(parent, finished)
    local r = redis.pcall('HMGET', KEY.outcome .. name, 'state', 'reason', 'turn')
    local result = KEY.given .. name
    if call('EXISTS', result) == 0 then
      result = read(parent, 'finished')[1] == finished and KEY.result .. parent .. ':' .. (r[3] or '') or nil
    end
    return tonumber(place), r[1] or 'gone', r[2] or '', r[3] or '', result
  end

  return {expect = expect, give = give, given = given, give_again = give_again, put_back = put_back, keep = keep,
    release = release, parents_of = parents_of, found = found}
end
