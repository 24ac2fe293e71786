-- use: agenda clock task_record batches damage
-- provides: ties
-- Ties: the set `ties` of a task names everything that points at it until it ends: `parent|<task that it waits for>`, `expires|`,
-- `unique|<key>`, `debounce|<key>`, `batch|<its batch>`, `callback|<batch whose end it waits for>`.
-- The end of a task cuts its ties, so nothing points at a task that has ended. The end of a parent is put on the agenda, because it may
-- have many children.
local function ties()
  local agenda = agenda()
  local function key_of(id) return KEY.ties .. id end
  local function children_of(id) return KEY.children .. id end

  local function tie(id, kind, name) call('SADD', key_of(id), kind .. '|' .. name) end

  -- Cuts a tie. Answers true if this call has cut it: exactly one caller gets true.
  local function cut(id, kind, name) return call('SREM', key_of(id), kind .. '|' .. name) == 1 end

  -- Two answers: the task that holds a key; until when (ms, '': until the task ends). nil if no task holds it.
  local function holder_of(index, key) return string.match(call('HGET', T .. index, key) or '', '^([^|]+)|(.*)$') end

  -- Removes a child from its parent. After the last child nobody needs to be told of the parent's end.
  local function leave_parent(id, parent)
    call('ZREM', children_of(parent), id)
    if call('EXISTS', children_of(parent)) == 0 then agenda.strike('settle', parent) end
  end

  local function undo(id, kind, name)
    if kind == 'parent' then leave_parent(id, name)
    elseif kind == 'expires' then agenda.strike('expire', id)
    elseif kind == 'batch' then batching().count_end(id, name, read(id, 'state')[1])
    elseif holder_of(kind, name) == id then call('HDEL', T .. kind, name) end
  end

  local function undo_all(id)
    for _, one in ipairs(redis.pcall('SMEMBERS', key_of(id))) do attempt(undo, id, string.match(one, '^(%a+)|(.*)$')) end   -- an error has no elements
    call('DEL', key_of(id))
    if call('EXISTS', children_of(id)) == 1 then agenda.put(NOW, 'settle', id) end
  end

  local function parents_of(id)
    local parents = {}
    for _, one in ipairs(redis.pcall('SMEMBERS', key_of(id))) do parents[#parents + 1] = string.match(one, '^parent|(.*)$') end
    return parents
  end

  local function count(id) return tonumber(redis.pcall('SCARD', key_of(id))) or 1 end

  return {tie = tie, cut = cut, undo_all = undo_all, count = count, holder_of = holder_of, children_of = children_of,
    parents_of = parents_of, agenda = agenda}
end
