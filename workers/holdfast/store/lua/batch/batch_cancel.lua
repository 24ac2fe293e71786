-- Cancel a batch, in steps. The batch takes no more tasks. Its callback is canceled, then its open tasks, in the order of their places.
-- KEYS: the public queue. ARGV: batch, most tasks of this step, reason.
-- Answers: {canceled, tasks canceled in this step, open tasks that are left}; {unknown, 0, 0}; {ended, 0, 0}: no task was open; or damaged:
--       a key of the batch holds something else.
-- Keeps: I3, I5, I14, I15, I19.
-- flags: allow-oom
-- use: batches task_control task_record clock damage
local batch, canceled = ARGV[1], 0
if batching().is_damaged(batch) then return 'damaged' end
local known = batching().facts_of(batch)
if not known.digest then return {'unknown', 0, 0} end
if known.ended and batching().count_in(batch, 0) == 0 then return {'ended', 0, 0} end
call('HSETNX', KEY.batch .. batch, 'canceled', NOW)
if known.callback and not known.ended then each_task(known.callback, nil, nil, cancel, ARGV[3]) end
local open = call('ZRANGE', KEY.batch_tasks .. batch, '-inf', '(' .. BAND, 'BYSCORE', 'LIMIT', 0, ARGV[2])
local function leave(id) batching().count_end(id, batch, 'gone') end
local function cancel_one(id)
  local state = read(id, 'state')[1]   -- it has ended, or somebody has deleted its record
  if state and not TERMINAL[state] and cancel(id, ARGV[3]) == 'canceled' then canceled = canceled + 1
  else batching().count_end(id, batch, TERMINAL[state or ''] and state or 'gone') end
end

for _, id in ipairs(open) do each_task(id, nil, leave, cancel_one) end
batching().seal(batch, 'cancel')
return {'canceled', canceled, batching().count_in(batch, 0) or 0}
