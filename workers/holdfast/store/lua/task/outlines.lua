-- For a list of tasks, the parts that stand beside their records: the beginning of each operation, and each trail. Of a task of a named
-- handler with several turns it is the operation of the first turn, which has the arguments; after WINDOW_BYTES of such operations, that of
-- the present turn.
-- KEYS: the public queue. ARGV: the most bytes of an operation, then ids of tasks.
-- Answers: for each task {the beginning of its operation ('' if there is none), its trail}. The trail of a damaged task is empty.
-- flags: no-writes, allow-oom
-- use: trail task_record history
local last, outlines = tonumber(ARGV[1]) - 1, {}

local function first_operation(id)
  local is_read, r = pcall(read, id, 'turn', 'name')
  if not is_read or (tonumber(r[1] or nil) or 1) < 2 or (r[2] or '') == '' or told_enough() then return nil end
  local operation = redis.pcall('LINDEX', KEY.history .. id, 0)
  if type(operation) ~= 'string' then return nil end
  count_told(#operation)
  return string.sub(operation, 1, last + 1)
end

for i = 2, #ARGV do
  local operation = first_operation(ARGV[i]) or redis.pcall('GETRANGE', KEY.op .. ARGV[i], 0, last)
  local is_read, trail = pcall(trail_of, ARGV[i])
  outlines[i - 1] = {type(operation) == 'string' and operation or '', is_read and trail or {}}
end
return outlines
