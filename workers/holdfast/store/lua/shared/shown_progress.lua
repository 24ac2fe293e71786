-- use: task_record webhook_outbox damage
-- provides: show_progress
-- Keeps the progress of a running task, and tells those who follow it. `turn`, `own`: fields of its record: the turn and the webhook.
local function show_progress(id, progress, turn, own)
  write(id, 'progress', progress)
  tell_waiters(id, 'part')
  attempt(tell_working, id, turn, own)
end
