-- use: workers
-- provides: note_ahead ask_back
-- Workers that have claimed tasks ahead, which they have not begun.
--
-- Rule 1. The hash `ahead` names each such worker: incarnation → lane, or '' for several lanes.
-- Rule 2. A worker that finds a lane empty asks the others to give back the tasks of this lane that they hold. It asks each worker once,
-- until that worker claims ahead again. It does not ask itself.
--
-- Warning. The hash is a hint. A worker in it may hold nothing any more; only the claim in each task's record counts.
local function note_ahead(incarnation, lane)
  local noted = call('HGET', KEY.ahead, incarnation)
  if noted ~= lane then call('HSET', KEY.ahead, incarnation, noted and '' or lane) end
end

-- Asks workers to give back what they hold of this lane. `asking`: the worker that found the lane empty; it is not asked.
local function ask_back(lane, asking)
  local holders = call('HGETALL', KEY.ahead)
  for i = 1, #holders, 2 do
    if holders[i + 1] == lane or holders[i + 1] == '' then
      call('HDEL', KEY.ahead, holders[i])
      if holders[i] ~= asking then hint(holders[i], 'return') end
    end
  end
end
