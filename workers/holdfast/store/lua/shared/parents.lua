-- use: task_record lane journal task_end ties clock parent_results batches damage
-- provides: waiting go_on
-- Tasks that wait for other tasks (their parents) to end. A task names its parents when it is made, and they exist by then. So no tasks
-- wait for one another in a circle.
local function waiting()
  local FATES = {failed = 'failed', rejected = 'was rejected', canceled = 'was canceled', gone = 'is gone'}
  local ties, results = ties(), parent_results()

  local function hold(id)
    call('ZADD', KEY.waiting, NOW, id)
    write(id, 'state', 'waiting', 'owner', '')
    local r = read(id, 'waits_for', 'batch')
    local batch = r[2] and batching().batch_of(r[2])
    local is_open = batch and call('SISMEMBER', KEY.ties .. id, 'callback|' .. batch) == 1
    note('waits', id, r[1] .. (is_open and ' batch ' .. batch or ''))
  end

  local function fail(id, parent, fate)
    finish(id, 'failed', 'parent ' .. parent .. ' ' .. FATES[fate], true)
    note_end('parent-failed', id, parent .. ' ' .. fate)
  end

  -- True if an error has ended an earlier call after it cut the last tie of a task: the task waits for nothing, and did not begin. If the
  -- task has ended, completes its end.
  local function is_cut_off(id, state, waits_for)
    if TERMINAL[state] then end_again(id) end
    return state == 'waiting' and waits_for == '0'
  end

  -- Tells a child that a parent has ended, once for each pair. A damaged child keeps its tie and gets the outcome at once, because the
  -- parent may be deleted later. It is told after its repair (see readmit).
  local function tell_child(id, parent, fate)
    local flaw = flaw_of(id) or (read(id, 'state')[1] and not whole(read(id, 'waits_for')[1]) and 'waits_for is no number')
    local known = fate == 'gone' and results.given(id, parent)
    if flaw then
      if not known then attempt(results.give, id, parent) end
      return set_task_aside(id, flaw)
    end
    local r = read(id, 'state', 'lane', 'if_parent_fails', 'begins', 'waits_for')
    local is_cut = ties.cut(id, 'parent', parent)
    if not is_cut then
      if not is_cut_off(id, r[1], r[5]) then return end
      r[5] = '1'
    end
    if not r[1] then   -- somebody has deleted its record
      ties.undo_all(id)
      return
    end
    write(id, 'waits_for', r[5] - 1)
    if known then fate = known else results.give(id, parent) end
    if fate ~= 'completed' and r[3] ~= 'run' then
      leave_index(id, r[1], r[2])
      fail(id, parent, fate)
    elseif r[5] == '1' and r[1] == 'waiting' then
      leave_index(id, 'waiting')
      note('ready', id)
      begin(id, whole(r[4]) or 0)
    end
  end

  -- Tells the children of a parent that has ended, in order, until `most` units of work are done. Answers how many units were done. A child
  -- costs one unit, and one for each of its ties, because it may end.
  local function tell_children(parent, most)
    local key, work = ties.children_of(parent), 1
    local fate = read(parent, 'state')[1] or 'gone'
    local ids = (fate == 'gone' or TERMINAL[fate]) and call('ZRANGE', key, 0, most - 1) or {}
    for _, id in ipairs(ids) do
      if work > most then return work end
      work = work + 1 + ties.count(id)
      each_task(id, nil, nil, tell_child, parent, fate)
      call('ZREM', key, id)
    end
    if #ids == 0 or call('EXISTS', key) == 0 then ties.agenda.strike('settle', parent) end
    return work
  end

  return {hold = hold, fail = fail, tell_children = tell_children}
end

-- Lets a parked task go on. If it still waits for parents, it waits again.
local function go_on(id)
  if (whole(read(id, 'waits_for')[1]) or 0) > 0 then waiting().hold(id) else to_tail(id) end
end
