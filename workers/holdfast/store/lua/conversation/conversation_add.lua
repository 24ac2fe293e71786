-- Keep something beside a task.
-- KEYS: the public queue. ARGV: task id, then pairs of what and value: added (a message or an artifact), feedback, push (where
--       to tell of it), ran (it was submitted, and is noted no more), or a field of its metadata as +name.
-- Answers: OK. Keeps: whatever is beside a task is found by the sweep.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: conversations clock
local id = ARGV[1]
call('ZADD', T .. 'abouts', 'NX', NOW, id)
for i = 2, #ARGV, 2 do
  local what, value = ARGV[i], ARGV[i + 1]
  if what == 'added' or what == 'feedback' then call('RPUSH', T .. what .. ':' .. id, value)
  elseif what == 'push' then call('HSET', T .. 'pushes', id, value)
  elseif what == 'ran' then end_note(id)
  else call('HSET', about_of(id), what, value) end
end
return 'OK'
