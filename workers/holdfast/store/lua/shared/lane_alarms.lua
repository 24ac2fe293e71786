-- use: gates clock
-- provides: sound_alarms close_or_open
-- When lanes may be open again that a rate, theirs or a handler's, has closed: the steward rings then.
local ALARMS = 64

local function sound_alarms()
  for _, lane in ipairs(call('ZRANGEBYSCORE', T .. 'alarms', '-inf', NOW, 'LIMIT', 0, ALARMS)) do
    call('ZREM', T .. 'alarms', lane)
    bounds().reopen(lane)
  end
end

-- After a look at this lane: bells are of use or not, and somebody rings when they are again.
local function close_or_open(lane)
  local room, why = room_of(lane)
  if room > 0 then call('HDEL', T .. 'closed', lane) else call('HSET', T .. 'closed', lane, why) end

  -- The steward sleeps until the earliest one: tell it if that has changed.
  local function set_alarm(at)
    call('ZADD', T .. 'alarms', at, lane)
    if call('ZRANK', T .. 'alarms', lane) == 0 and call('LLEN', T .. 'control:steward') == 0 then
      call('RPUSH', T .. 'control:steward', 'alarm')
    end
  end

  -- The next moment at which a gate of this lane should be looked at, or nil.
  local function next_gate()
    local first = tonumber(call('ZRANGE', T .. 'gates:' .. lane, 0, 0, 'WITHSCORES')[2])
    return first and first > NOW and first < math.huge and first or nil
  end

  local at = room == 0 and why == 'rate' and bounds().ready_at('rate', lane) or nil
  local gate = room > 0 and next_gate() or nil
  if at or gate then set_alarm(at or gate) else call('ZREM', T .. 'alarms', lane) end
end
