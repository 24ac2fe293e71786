-- use: workers
-- provides: note_ahead ask_back
-- Workers that have claimed tasks ahead, which they have not begun: the hash `ahead`, incarnation → lane, '' for several. Who finds a
-- lane empty asks them to give these back, each of them once for what it has claimed since.
local function note_ahead(incarnation, lane)
  local noted = call('HGET', KEY.ahead, incarnation)
  if noted ~= lane then call('HSET', KEY.ahead, incarnation, noted and '' or lane) end
end

-- `asking`: a worker that holds nothing ahead itself.
local function ask_back(lane, asking)
  local holders = call('HGETALL', KEY.ahead)
  for i = 1, #holders, 2 do
    if holders[i + 1] == lane or holders[i + 1] == '' then
      call('HDEL', KEY.ahead, holders[i])
      if holders[i] ~= asking then hint(holders[i], 'return') end
    end
  end
end
