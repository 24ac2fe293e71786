-- Record a sleep of a running task as its next step, with the time of its end. If a step is recorded at that place, answer its end.
-- KEYS: the public queue. ARGV: task id, claim, the step's place among those of the task (from 0), its name, milliseconds.
-- Answers: {word as from `step`, name of the recorded step, its end (ms, by the clock of Redis), ms until then (0: it is over)}.
-- Keeps: I8: only the latest claim records. A sleep has one end: each run that comes to it sleeps until then.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: clock task_record step_record
local id, claim, place, name = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local r = read(id, 'state', 'claim', 'turn')
if r[1] ~= 'working' or r[2] ~= claim then return {'LOST', '', 0, 0} end
local due = string.format('%.0f', NOW + ARGV[5])
local word, of, what = keep_step(id, r[3], place, name, due)
if word == 'FULL' then return {word, name, 0, 0} end
if word == 'KEPT' then
  if of ~= name or not string.match(what or '', '^%d+$') then return {'OTHER', of, 0, 0} end
  due = what
end
return {'OK', name, tonumber(due), math.max(0, due - NOW)}
