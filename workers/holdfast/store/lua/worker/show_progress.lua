-- Keep the progress that running tasks show, each under the latest claim of its task, and wake clients that follow these tasks.
-- KEYS: the public queue. ARGV: for each task its id, its claim, its progress.
-- Answers: how many tasks have new progress. Of a task with a later claim, or of one that does not run any more, nothing is kept.
-- Keeps: I8, I9: only the latest claim of a running task shows progress.
-- flags: allow-oom
-- use: task_record shown_progress
local shown = 0
for i = 1, #ARGV, 3 do
  local id, progress = ARGV[i], ARGV[i + 2]
  local r = read(id, 'state', 'claim', 'progress', 'turn', 'webhook')
  if r[1] == 'working' and r[2] == ARGV[i + 1] and r[3] ~= progress then
    show_progress(id, progress, r[4], r[5])
    shown = shown + 1
  end
end
return shown
