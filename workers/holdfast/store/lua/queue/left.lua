-- Tell if anything is left to do in some lanes, at one moment.
-- KEYS: the public queue. ARGV: the lanes.
-- Answers: {1 if there is, else 0; milliseconds until the next delayed task is due, -1 if none is delayed; how many wait for
--           handlers that no live worker has}.
-- Left is what waits in a lane, runs, is due by now, or lies unread in an inbox; not what is delayed or parked, nor what
-- a paused lane keeps or what waits for a handler that no live worker has, nor, while all hosts are quiet or halted, what waits in any; nor what waits for others, unless these have ended and it is to be told.
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

-- Tasks that wait to run alone are among the submitted.
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
