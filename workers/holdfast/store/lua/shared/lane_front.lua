-- use: lane constants
-- provides: front_of place_in
-- The front of a lane: the head of its list, or the tail of a turned one.
-- The first entries, in order: at most `number`, and no further one after WINDOW_BYTES. They are read one by one, because anybody can push
-- entries of any size. So a call reads at most one entry that is too large.
local function front_of(lane, number)
  local list, turned, front, bytes = list_of(lane), is_turned(lane), {}, 0
  while #front < number and bytes < WINDOW_BYTES do
    local raw = redis.pcall('LINDEX', list, turned and -#front - 1 or #front)
    if type(raw) ~= 'string' then break end   -- the end of the list, or the key holds no list
    front[#front + 1], bytes = raw, bytes + #raw
  end
  return front, bytes
end

-- How many entries stand before this one; false if it is not among the first `searched`.
local function place_in(lane, raw, searched)
  if not is_turned(lane) then return call('LPOS', list_of(lane), raw, 'MAXLEN', searched) end
  local at = call('LPOS', list_of(lane), raw, 'RANK', -1, 'MAXLEN', searched)
  return at and call('LLEN', list_of(lane)) - 1 - at
end
