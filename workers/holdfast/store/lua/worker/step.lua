-- Keep the result of a step of a running task, under its latest claim, before the handler goes on.
-- KEYS: the public queue. ARGV: task id, claim, the step's place among those of the task (from 0), its name, its result (JSON).
-- Answers: {word, name of what stands there}. OK: it is kept, or was by this same call. LOST: the claim is not the task's, or no longer.
--          OTHER: another step or result stands at that place. FULL: the steps of the task are too many, or too large.
-- Keeps: I8: only the latest claim records. Steps are never changed: what a run has seen, each later run sees.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: clock task_record limits journal
local id, claim, place, name, result = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local r = read(id, 'state', 'claim', 'turn')
if r[1] ~= 'working' or r[2] ~= claim then return {'LOST', ''} end
local key, text = KEY.steps .. id, name .. '\n' .. result
local kept = redis.pcall('HGET', key, place)
if kept then   -- no text: somebody has damaged the key
  local of, what = string.match(type(kept) == 'string' and kept or '', '^%d+ %d+ ([^\n]*\n)(.*)$')
  if of and of .. what == text then return {'OK', name} end
  return {'OTHER', string.sub(of or '?\n', 1, -2)}
end
local bytes = tonumber(call('HGET', key, 'bytes') or '0') + #text
if tonumber(place) >= STEPS_KEPT or bytes > STEPS_BYTES then return {'FULL', name} end
call('HSET', key, place, r[3] .. ' ' .. NOW .. ' ' .. text, 'bytes', bytes)
tell('step', id, (place + 1) .. ' ' .. name)
return {'OK', name}
