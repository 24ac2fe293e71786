-- use: task_record task_control ties parents lane parent_results damage
-- provides: hold_debounce is_replaced replace unknown_of start_after
-- Submit options: the parents of a submission, and the earlier task that it replaces.
local UNDECIDED = {delayed = true, waiting = true}   -- a task in one of these states is replaced by a later submission with the same debounce key
local tied, held, results = ties(), waiting(), parent_results()

-- Notes that the next submission with this debounce key replaces this task. Answers the task that held the key before, or nil.
local function hold_debounce(id, key)
  local before = tied.holder_of(NAME.debounce, key)
  tied.tie(id, 'debounce', key)
  if before == id then return nil end   -- an error has ended its first submission after this
  if before then attempt(tied.cut, before, 'debounce', key) end
  call('HSET', KEY.debounce, key, id .. '|')
  return before
end

local function may_be_replaced(id)
  local r = read(id, 'state', 'delivery')
  return UNDECIDED[r[1]] and (r[2] or '0') == '0'
end

-- True if a submission with this debounce key ('' for none) replaces that task.
local function is_replaced(id, key) return key ~= '' and tied.holder_of(NAME.debounce, key) == id and may_be_replaced(id) end

-- Replaces an earlier task by this one. A damaged earlier task is set aside; the new task gets its key all the same.
local function replace(before, id)
  if not may_be_replaced(before) then return end
  local flaw = flaw_of(before)
  if flaw then set_task_aside(before, flaw) else each_task(before, nil, nil, cancel, 'replaced by ' .. id) end
end

-- The first of these tasks that is unknown; nil if all are known.
local function unknown_of(ids)
  for _, id in ipairs(ids) do
    if call('EXISTS', KEY.task .. id) == 0 then return id end
  end
end

-- Makes a task wait for those of its parents that have not ended. Answers how many these are; or a parent whose end makes the task fail,
-- with its state.
local function wait_for(id, parents, policy)
  local place, count, parent, fate = call('HGET', KEY.counters, 'accepted'), 0, nil, nil
  results.expect(id, parents)
  for _, name in ipairs(parents) do
    local state = read(name, 'state')[1]
    if not TERMINAL[state] then
      call('ZADD', tied.children_of(name), place, id)
      tied.tie(id, 'parent', name)
      count = count + 1
    else
      results.give(id, name)
      if state ~= 'completed' and policy ~= 'run' then parent, fate = name, state end
    end
  end
  return count, parent, fate
end

-- Starts a new task, makes it wait for its parents, or ends it because a parent has not completed. `others`: the number of further ends
-- that it waits for (that of a batch).
local function start_after(id, parents, policy, at, others)
  local count, parent, fate = wait_for(id, parents, policy)
  count = count + others
  if #parents > 0 then write(id, 'if_parent_fails', policy) end
  if #parents + others > 0 then write(id, 'waits_for', count, 'begins', at) end
  if parent then
    held.fail(id, parent, fate)
  elseif count > 0 then
    held.hold(id)
  else
    begin(id, at)
  end
end
