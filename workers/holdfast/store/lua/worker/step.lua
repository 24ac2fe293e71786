-- Record the result of a step of a running task, under its latest claim, before the handler goes on.
-- KEYS: the public queue. ARGV: task id, claim, the step's place among those of the task (from 0), its name, its result (JSON).
-- Answers: {word, name of the recorded step}. OK: it is recorded, perhaps by an earlier try of this call. LOST: the claim is not the latest
--       one of the task. OTHER: another step or result is recorded at that place. FULL: the task has too many steps, or too large ones.
-- Keeps: I8: only the latest claim records. A recorded step is never changed, so each later run sees what an earlier run has seen.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: task_record step_record
local id, claim, place, name, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local r = read(id, 'state', 'claim', 'turn')
if r[1] ~= 'working' or r[2] ~= claim then return {'LOST', ''} end
local word, of, what = keep_step(id, r[3], place, name, result)
if word ~= 'KEPT' then return {word, name} end
return {of == name and what == result and 'OK' or 'OTHER', of}
