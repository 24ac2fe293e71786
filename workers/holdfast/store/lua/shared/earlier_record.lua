-- use: task_record ties gates webhook_outbox kinds_of_errors
-- provides: leave_place
-- Takes out a record that a ledger corrects, because this Redis was set back to an earlier moment of the task.

-- Takes a task out of every index, whatever its state. If a worker runs it, the worker is told that it has lost the task.
local function leave_place(id)
  local r = read(id, 'state', 'lane', 'owner', 'error', 'name')
  if r[1] == 'working' then bounds().vacate(id) end
  leave_index(id, r[1], r[2], r[3])
  if TERMINAL[r[1]] then
    count_out(KEY.finished, id, r[1])
    call('ZREM', KEY.dead, id)
  end
  error_kinds().leave(id, r[4], r[5])
  ties().undo_all(id)
  local box = outbox()
  local waiting = call('EXISTS', box.index) == 1 and box.of(id) or {}
  for i = 1, #waiting, 5 do box.drop(waiting[i]) end
end
