-- Keep data of an application beside a task.
-- KEYS: the public queue. ARGV: task id, then pairs of kind and value. The kinds: added (a message or an artifact), feedback, push (the
--       settings by which a client is notified), ran (the task was submitted, so it is noted no more), +name (a field of its metadata).
-- Answers: OK. Keeps: the sweep finds everything that is kept beside a task.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: conversations clock
local id = ARGV[1]
call('ZADD', KEY.abouts, 'NX', NOW, id)
for i = 2, #ARGV, 2 do
  local what, value = ARGV[i], ARGV[i + 1]
  if what == 'added' then call('RPUSH', KEY.added .. id, value)
  elseif what == 'feedback' then call('RPUSH', KEY.feedback .. id, value)
  elseif what == 'push' then call('HSET', KEY.pushes, id, value)
  elseif what == 'ran' then end_note(id)
  else call('HSET', about_of(id), what, value) end
end
return 'OK'
