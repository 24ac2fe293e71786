-- One look at the front of a lane, and where the two entries are that stood there at an earlier look.
-- Only what stands side by side, in the same order, deeper than before, has been pushed down: popping cannot do that,
-- and somebody who pushes one of them again cannot either. What is in the lane twice, or too large to be compared, tells
-- nothing, nor do own entries and large ones before it: those go back to the head when a worker dies.
-- KEYS: the public queue. ARGV: lane, the first entry of the earlier look, the second one ('' where there was none).
-- Answers: {type of the key, length, first entry, second entry ('' if it tells nothing), 1 if foreign entries came
--           before the earlier ones, else 0, own entries that the audit misses, 1 if its front is the tail}.
-- flags: no-writes, allow-oom
-- use: lane front limits
local WINDOW = 64       -- entries from the head
local SEARCHED = 1024   -- for what was at the head before
local lane, first, second = ARGV[1], ARGV[2], ARGV[3]
local key = list_of(lane)
local kind = call('TYPE', key).ok
local suspects = call('SCARD', T .. 'audit:' .. lane)
if kind ~= 'list' then return {kind, 0, '', '', 0, suspects, 0} end

local window, turned = front_of(lane, WINDOW), is_turned(lane)
local function head(place)
  local raw = window[place]
  if not raw or #raw > READ_BYTES or call('LPOS', key, raw, 'RANK', turned and -2 or 2, 'MAXLEN', SEARCHED) then return '' end
  return raw
end

local function pushed_down()
  local depth = place_in(lane, first, SEARCHED) or 0
  if depth == 0 or call('LINDEX', key, turned and -depth - 2 or depth + 1) ~= second then return false end
  for place = 1, math.min(depth, #window) do
    if #window[place] <= READ_BYTES and not own(window[place]) then return true end
  end
  return false
end

local pushed = first ~= '' and second ~= '' and pushed_down()
return {kind, call('LLEN', key), head(1), head(2), pushed and 1 or 0, suspects, turned and 1 or 0}
