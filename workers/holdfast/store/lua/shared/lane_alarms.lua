-- use: gates clock shared_keys
-- provides: sound_alarms close_or_open
-- Alarms: when a lane may open again that a rate (its own or a handler's) has closed. The steward then rings its bell.
local function sound_alarms()
  local ALARMS = 64   -- alarms that one call rings
  for _, lane in ipairs(call('ZRANGEBYSCORE', KEY.alarms, '-inf', NOW, 'LIMIT', 0, ALARMS)) do
    call('ZREM', KEY.alarms, lane)
    bounds().reopen(lane)
  end
end

-- After a look at a lane, notes whether a task can start there. If none can, sets an alarm for the time at which one can.
local function close_or_open(lane)
  local room, why = room_of(lane)
  if room > 0 then call('HDEL', KEY.closed, lane) else call('HSET', KEY.closed, lane, why) end

  -- Sets an alarm. The steward sleeps until the earliest alarm, and is woken if that has changed.
  local function set_alarm(at)
    call('ZADD', KEY.alarms, at, lane)
    if call('ZRANK', KEY.alarms, lane) == 0 and call('LLEN', KEY.steward_control) == 0 then
      call('RPUSH', KEY.steward_control, 'alarm')
    end
  end

  -- The next moment at which a gate of this lane should be looked at, or nil.
  local function next_gate()
    local first = tonumber(shared('ZRANGE', KEY.gates .. lane, 0, 0, 'WITHSCORES')[2])
    return first and first > NOW and first < math.huge and first or nil
  end

  local at = room == 0 and why == 'rate' and bounds().ready_at('rate', lane) or nil
  local gate = room > 0 and next_gate() or nil
  if at or gate then set_alarm(at or gate) else call('ZREM', KEY.alarms, lane) end
end
