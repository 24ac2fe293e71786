-- use: task_record lane journal gates pause_requests damage workers task_end
-- provides: return_unbegun
-- Puts back tasks of a live worker that it will not begin; their deliveries count for nothing. `is_unbegun(id, claim)` selects the tasks.
-- `reason`: begins with a space, or ''. Answers how many were put back.
local function return_unbegun(incarnation, is_unbegun, reason)
  local returned = 0
  local function give_back(id, claim)
    local r = read(id, 'state', 'claim')
    if r[1] ~= 'working' or r[2] ~= claim then
      if not end_again(id) then note_no_state(id, r[1]) end
      return
    end
    local flaw = flaw_in(facts(id))
    if flaw then
      r = read(id, 'lane', 'concurrency_key')
      bounds().give_back(id, r[1], r[2])
      return set_task_aside(id, flaw)
    end
    bounds().vacate(id)
    note('returned', id, claim .. reason)
    count_unbegun(id)
    to_head(id)
    carry_out_pause(id, claim)
    returned = returned + 1
  end

  for _, task in ipairs(owned_last_first(incarnation, is_unbegun)) do
    call('HDEL', running_of(incarnation), task.id)
    each_task(task.id, nil, nil, give_back, task.claim)
  end
  return returned
end
