-- One look at the front of a lane, and what has come before the two entries that stood near it at an earlier look.
-- If two entries are still neighbours, entries that stand before them now and did not then were pushed at the front: neither
-- a pop nor a second push of one of the two can do that. Entries that are in the lane twice, or too large to be compared, tell
-- nothing, nor do own entries and large ones: those go back to the front when a worker dies.
-- The two are as far from the front as is cheap to see, so that they are still there when those before them were taken.
-- KEYS: the public queue. ARGV: lane, the first entry of the earlier look, the second one ('' where there was none), then
--       the SHA-1 of each small foreign entry that was before them.
-- Answers: {type of the key, length, first entry, second entry ('' if there are none that tell anything), foreign entries
--           that came before the earlier ones (of the first 64), own entries that the audit misses, 1 if its front is the
--           tail, the SHA-1 of each small foreign entry before the first}.
-- flags: no-writes, allow-oom
-- use: lane lane_front limits shared_keys
local WINDOW = 64       -- entries from the front
local NEAR = 8          -- of them, where the two may be
local SEARCHED = 1024   -- for what was near the front before
local lane, first, second = ARGV[1], ARGV[2], ARGV[3]
local key = list_of(lane)
local kind = call('TYPE', key).ok
local suspects = size_of('SCARD', KEY.audit .. lane)
if kind ~= 'list' then return {kind, 0, '', '', 0, suspects, 0, {}} end

local window, turned = front_of(lane, WINDOW), is_turned(lane)
local function is_foreign(raw) return #raw <= READ_BYTES and not own(raw) end
local function tells(place)
  local raw = window[place]
  return #raw <= READ_BYTES and not call('LPOS', key, raw, 'RANK', turned and -2 or 2, 'MAXLEN', SEARCHED)
end

local function came_before()
  local depth = place_in(lane, first, SEARCHED) or 0
  if depth == 0 or call('LINDEX', key, turned and -depth - 2 or depth + 1) ~= second then return 0 end
  local earlier, count = {}, 0
  for place = 4, #ARGV do earlier[ARGV[place]] = true end
  for place = 1, math.min(depth, #window) do
    local raw = window[place]
    if is_foreign(raw) and not earlier[redis.sha1hex(raw)] then count = count + 1 end
  end
  return count
end

-- The place of the first of two that tell something, the farther from the front the better; 0 if there are none.
local function telling()
  local behind = false
  for place = math.min(NEAR, #window), 1, -1 do
    local is_telling = tells(place)
    if behind and is_telling then return place end
    behind = is_telling
  end
  return 0
end

local pushed, place, before = first ~= '' and second ~= '' and came_before() or 0, telling(), {}
for at = 1, place - 1 do
  if is_foreign(window[at]) then before[#before + 1] = redis.sha1hex(window[at]) end
end
return {kind, call('LLEN', key), window[place] or '', place > 0 and window[place + 1] or '', pushed, suspects, turned and 1 or 0, before}
