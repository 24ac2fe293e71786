-- For a list of tasks, the parts that stand beside their records: the beginning of each operation, and each trail.
-- KEYS: the public queue. ARGV: the most bytes of an operation, then ids of tasks.
-- Answers: for each task {the beginning of its operation ('' if there is none), its trail}. The trail of a damaged task is empty.
-- flags: no-writes, allow-oom
-- use: trail
local last, outlines = tonumber(ARGV[1]) - 1, {}
for i = 2, #ARGV do
  local operation = redis.pcall('GETRANGE', KEY.op .. ARGV[i], 0, last)
  local is_read, trail = pcall(trail_of, ARGV[i])
  outlines[i - 1] = {type(operation) == 'string' and operation or '', is_read and trail or {}}
end
return outlines
