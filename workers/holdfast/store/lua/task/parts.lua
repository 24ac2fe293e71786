-- The state of a task, and its parts after a position. One answer has room for a bounded size of parts.
-- KEYS: the public queue. ARGV: task id, the position of the last part that the caller has read (0: none).
-- Answers: {state ('' for an unknown task), position of the last part that is kept (0: none), 1 if there are more parts than this answer
--       has, else 0, then batches of parts (see the shared part `emitted`)}.
-- flags: no-writes, allow-oom
-- use: task_record constants emitted
local key, after = KEY.parts .. ARGV[1], tonumber(ARGV[2])
local length, last = redis.pcall('LLEN', key), batch_at(key, -1)
local answer, bytes = {read(ARGV[1], 'state')[1] or '', last and last.position or 0, 0}, 0
if type(length) ~= 'number' or not last then return answer end   -- somebody has damaged the list
local first, behind = 0, length   -- a binary search between these two for the first batch that ends after the position
while first < behind do
  local middle = math.floor((first + behind) / 2)
  local batch = batch_at(key, middle)
  if batch and batch.position <= after then first = middle + 1 else behind = middle end
end
while first < length do
  for _, batch in ipairs(call('LRANGE', key, first, first + PARTS_AT_ONCE - 1)) do
    if bytes > 0 and bytes + #batch > PARTS_TOLD then
      answer[3] = 1
      return answer
    end
    bytes = bytes + #batch
    answer[#answer + 1] = batch
  end
  first = first + PARTS_AT_ONCE
end
return answer
