-- use: lane
-- What stands at the front of a lane, wherever that is.
-- The first entries, in their order.
local function front_of(lane, number)
  if not is_turned(lane) then return call('LRANGE', list_of(lane), 0, number - 1) end
  local window, front = call('LRANGE', list_of(lane), -number, -1), {}
  for i = #window, 1, -1 do front[#front + 1] = window[i] end
  return front
end

-- How many entries go before this one; false if it is not among the first `searched`.
local function place_in(lane, raw, searched)
  if not is_turned(lane) then return call('LPOS', list_of(lane), raw, 'MAXLEN', searched) end
  local at = call('LPOS', list_of(lane), raw, 'RANK', -1, 'MAXLEN', searched)
  return at and call('LLEN', list_of(lane)) - 1 - at
end
