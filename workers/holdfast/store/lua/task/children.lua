-- The children of a task: those that still wait for it. If none waits, those that were told of its end.
-- KEYS: the public queue. ARGV: task id, the most ids.
-- Answers: {their number, ids in no order}. If more than OF_ENDED children were told of its end: only their number.
-- flags: no-writes, allow-oom
-- use: task_record
local OF_ENDED, OF_PARENT = 1000, 3   -- fields of an outcome that are not about children
local id, limit = ARGV[1], tonumber(ARGV[2])
local waiting = redis.pcall('ZCARD', KEY.children .. id)
if type(waiting) == 'number' and waiting > 0 then
  local ids = call('ZRANGE', KEY.children .. id, 0, math.min(limit, OF_ENDED) - 1)
  table.insert(ids, 1, waiting)
  return ids
end
local outcome = KEY.outcome .. id .. ':' .. (read(id, 'finished')[1] or '0')
local fields = redis.pcall('HLEN', outcome)
if type(fields) ~= 'number' or fields <= OF_PARENT then return {0} end
local answer = {fields - OF_PARENT}
if fields - OF_PARENT > OF_ENDED then return answer end
for _, name in ipairs(call('HKEYS', outcome)) do
  local child = string.match(name, '^child:(.*)$')
  if child and #answer <= limit then answer[#answer + 1] = child end
end
return answer
