-- use: task_record lane journal gates pause_requests damage workers
-- provides: return_unbegun
-- Puts tasks of a live worker back that it will not begin: nothing of them counts. `is_unbegun`: of an id and its claim.
-- `reason`: begins with a space, or ''. Answers how many.
local function return_unbegun(incarnation, is_unbegun, reason)
  local returned = 0
  for _, task in ipairs(owned_last_first(incarnation, is_unbegun)) do
    call('HDEL', running_of(incarnation), task.id)
    local r = read(task.id, 'state', 'claim')
    if r[1] == 'working' and r[2] == task.claim and not flaw_in(facts(task.id)) then
      bounds().vacate(task.id)
      note('returned', task.id, task.claim .. reason)
      count_unbegun(task.id)
      to_head(task.id)
      carry_out_pause(task.id, task.claim)
      returned = returned + 1
    end
  end
  return returned
end
