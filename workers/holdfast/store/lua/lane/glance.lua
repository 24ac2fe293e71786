-- Look once at the front of a lane, and count the foreign entries that were pushed there since an earlier look.
-- The caller remembers two neighbouring entries near the front. If they are still neighbours, every entry before them that was not there at
-- the earlier look was pushed at the front: neither a pop nor a second push of one of the two can cause that.
-- Some entries prove nothing: those that are in the lane twice, and those too large to be compared. Own and large entries before the two
-- prove nothing either, because they go back to the front when a worker dies.
-- The two stand as far from the front as is cheap to read. So they are often still there when workers have taken the entries before them.
-- KEYS: the public queue. ARGV: lane, the first entry of the earlier look, the second one ('' where there was none), then the SHA-1 of each
--       small foreign entry that was before them.
-- Answers: {type of the key, length, first entry, second entry (both '' if no two entries prove anything), foreign entries that came before
--       the earlier two (of the first 64), tasks whose entries the audit has missed once, 1 if the front of the lane is the tail of its
--       list, the SHA-1 of each small foreign entry before the first}.
-- flags: no-writes, allow-oom
-- use: lane lane_front constants shared_keys
local WINDOW = 64       -- entries from the front
local NEAR = 8          -- the two remembered entries are among the first so many
local SEARCHED = 1024   -- entries that are searched for those of the earlier look
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

-- The place of the first of two neighbours that prove something, as far from the front as possible; 0 if there are none.
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
