-- The results of some tasks, as far as they are small: for a sample of tasks that failed.
-- KEYS: the public queue. ARGV: the most bytes of one result, ids of tasks.
-- Answers: for each task its result as JSON; '' if there is none, or a larger one.
-- flags: no-writes, allow-oom
-- use: task_record
local most, results = tonumber(ARGV[1]), {}
for i = 2, #ARGV do
  local key = KEY.result .. ARGV[i] .. ':' .. (read(ARGV[i], 'turn')[1] or '1')
  local size = redis.pcall('STRLEN', key)
  results[#results + 1] = type(size) == 'number' and size <= most and call('GET', key) or ''
end
return results
