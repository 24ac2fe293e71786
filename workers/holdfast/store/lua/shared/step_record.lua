-- use: clock constants journal
-- provides: keep_step
-- The steps of a task. A recorded step is never changed: each later run sees what an earlier run has seen.

-- Keeps a step, unless its place is taken. Answers OK or FULL; or KEPT, with the name and the result of the step there ('?' and nil if
-- somebody has damaged it).
local function keep_step(id, turn, place, name, result)
  local key, text = KEY.steps .. id, name .. '\n' .. result
  local kept = redis.pcall('HGET', key, place)
  if kept then
    local of, what = string.match(type(kept) == 'string' and kept or '', '^%d+ %d+ ([^\n]*)\n(.*)$')
    return 'KEPT', of or '?', what
  end
  local bytes = tonumber(call('HGET', key, 'bytes') or '0') + #text
  if tonumber(place) >= STEPS_KEPT or bytes > STEPS_BYTES then return 'FULL' end
  call('HSET', key, place, turn .. ' ' .. NOW .. ' ' .. text, 'bytes', bytes)
  tell('step', id, (place + 1) .. ' ' .. name)
  return 'OK'
end
