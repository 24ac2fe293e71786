-- Tell whether anything is left to do in some lanes, at one moment.
-- KEYS: the public queue. ARGV: the lanes.
-- Answers: {1 if something is left, else 0; ms until the next delayed task is due (-1: none is delayed); how many tasks wait for handlers
--       that no live worker has}.
-- Left are tasks that wait in a lane, run, or are due now, entries in a worker's inbox, and parents whose end is to be told to their
-- children.
-- Not left are delayed, parked and waiting tasks, tasks of a paused lane, and tasks whose handler no live worker has. While all hosts are
-- quiet or halted, no task that waits in a lane is left.
-- flags: no-writes, allow-oom
-- use: task_record lane clock rules unknown_handlers workers shared_keys
local served = {}
for _, lane in ipairs(ARGV) do served[lane] = true end

-- The number of tasks that wait in a lane and that no live worker could run.
local function unserved_in(lane)
  local gates, count = unknown(), 0
  for _, name in ipairs(members_of('ZRANGE', KEY.unknown .. lane, 0, -1)) do
    if #gates.servers(lane, name) == 0 then count = count + size_of('ZCARD', gates.held_at(lane, name)) end
  end
  return count
end

local unserved, all_unserved = {}, 0
if call('EXISTS', KEY.unserved) == 1 then
  for _, lane in ipairs(ARGV) do
    unserved[lane] = unserved_in(lane)
    all_unserved = all_unserved + unserved[lane]
  end
end

-- True if tasks wait in these lanes. Suspects are among the submitted tasks.
local function waits()
  if call('HEXISTS', KEY.quiet, '*') + call('HEXISTS', KEY.quiet, 'halt *') > 0 then return false end
  for _, lane in ipairs(ARGV) do
    if not (is_bounded() and call('HEXISTS', KEY.rules, 'paused:' .. lane) == 1) and (size_of('LLEN', list_of(lane)) > 0 or size_of('ZCARD', KEY.submitted .. lane) > (unserved[lane] or 0)) then return true end
  end
  return false
end

local function runs()
  for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
    if call('EXISTS', inbox_of(incarnation)) == 1 then return true end
    for _, id in ipairs(running_ids(incarnation)) do
      if served[read(id, 'lane')[1] or ''] then return true end
    end
  end
  return false
end

local due = tonumber(call('ZRANGE', KEY.due, 0, 0, 'WITHSCORES')[2] or '-1')
local agenda = tonumber(call('ZRANGE', KEY.agenda, 0, 0, 'WITHSCORES')[2] or 'inf')
local left = waits() or agenda <= NOW or (due >= 0 and due <= NOW) or runs()
return {left and 1 or 0, due < 0 and -1 or math.max(0, due - NOW), all_unserved}
