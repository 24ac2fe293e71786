-- use: lane shared_keys journal
-- provides: stale_in waiting_in fewer_stale
-- Stale entries: own entries in a lane that no task needs, because the task was canceled, was paused, has expired, or has a later entry.
-- They stay until a worker meets them or a steward removes them (see tend). The hash `stale` counts the known ones, by lane (see
-- leave_index). Anybody may take entries out of a list, so a look at the list corrects the count.
local function fewer_stale(lane, number)
  if raise(KEY.stale, lane, -number) <= 0 then call('HDEL', KEY.stale, lane) end
end

local function stale_in(lane) return tonumber(call('HGET', KEY.stale, lane) or '') or 0 end

-- How many entries a lane has, without those that are known to be stale.
local function waiting_in(lane) return math.max(0, size_of('LLEN', list_of(lane)) - stale_in(lane)) end
