-- A page of tasks that may contain a text: in the id, the handler's name, the reason, the operation, or the result of the latest turn. The
-- caller decides whether they do, because it knows which parts of these are markup. One call looks at a bounded number of records and
-- bytes.
-- KEYS: the public queue. ARGV: as in the shared part `listing`. The text: ASCII in lower case that must be contained ('' for all tasks).
-- Answers: {cursor ('' at the end), tasks looked at, then for each task: id, record as pairs, dead letter (1 or 0), number of pending
--       messages, operation, result}. Of a large operation or result: only its beginning.
-- flags: no-writes, allow-oom
-- use: listing task_record
local text, LARGEST_TEXT = ARGV[11], 65535

local function holds(value) return type(value) == 'string' and string.find(string.lower(value), text, 1, true) end
local function text_at(key)
  local value = redis.pcall('GETRANGE', key, 0, LARGEST_TEXT)
  return type(value) == 'string' and value or ''
end

return answer_of(function(id, answer)
  local r = read(id, 'turn', 'name', 'reason')
  local operation, result = text_at(KEY.op .. id), text_at(KEY.result .. id .. ':' .. (r[1] or ''))
  if holds(operation) or holds(result) or holds(id) or holds(r[2]) or holds(r[3]) then
    for _, item in ipairs({id, call('HGETALL', KEY.task .. id), call('ZSCORE', KEY.dead, id) and 1 or 0,
      call('LLEN', KEY.pending .. id), operation, result}) do answer[#answer + 1] = item end
  end
  return #operation + #result
end)
