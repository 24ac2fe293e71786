-- Look at the open tasks of the batch that was not looked at for longest, and count ends that were not counted. An end is missed if
-- somebody has deleted the record of the task, or its ties. One call looks at some of the tasks; several calls look at all.
-- KEYS: the public queue. ARGV: most tasks of this call.
-- Answers: {ends that were counted, ms until there is more to look at (-1: no batch is open)}.
-- Keeps: I19. While this Redis is rebuilt from a ledger, nothing is counted, because records may come back.
-- flags: allow-oom
-- use: batches task_record constants clock
if call('HEXISTS', KEY.meta, 'rebuilding') == 1 then return {0, BATCH_LOOK_MS} end
local most, counted = tonumber(ARGV[1]), 0
local first = call('ZRANGE', KEY.batch_looks, 0, 0, 'WITHSCORES')
if #first == 0 then return {0, -1} end
local batch, due = first[1], tonumber(first[2])
if due > NOW then return {0, due - NOW} end
call('ZADD', KEY.batch_looks, NOW + BATCH_LOOK_MS, batch)
local key = KEY.batch_tasks .. batch
local from = redis.pcall('HGET', KEY.batch .. batch, 'looked')
if type(from) == 'table' then return {0, 0} end   -- somebody has damaged it
local page = redis.pcall('ZRANGE', key, '(' .. (from or 0), '(' .. BAND, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
if page.err then return {0, 0} end
for i = 1, #page, 2 do
  local state = read(page[i], 'state')[1]
  local how = state == false and 'gone' or TERMINAL[state or ''] and state
  if how and batching().count_end(page[i], batch, how) then counted = counted + 1 end
end
local is_over = #page < 2 * most
if is_over then batching().end_if_over(batch) end   -- an error may have cut off its end behind that of its last task
if call('ZSCORE', KEY.batch_looks, batch) then   -- else it has ended
  call('HSET', KEY.batch .. batch, 'looked', is_over and 0 or page[#page])
  if not is_over then call('ZADD', KEY.batch_looks, NOW, batch) end
end
return {counted, 0}
