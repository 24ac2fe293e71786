-- Delete everything of the namespace except the mark of its version, in bounded steps.
-- KEYS: the public queue. ARGV: cursor (0 to begin), keys looked at in one step, force (1: even while workers live).
-- Answers: {cursor (0 at the end; busy: workers live, nothing was deleted), keys deleted; workers}.
-- flags: allow-oom
-- use: lane
local ENTRIES = 10000   -- taken from one list in one step
local cursor, page, force = ARGV[1], ARGV[2], ARGV[3] == '1'
local workers = call('ZCARD', KEY.workers)
if workers > 0 and not force then return {'busy', workers} end

-- Empties all lanes, while their names are still known: a list of any name may be a lane. Answers true if one is not empty yet.
local function empty_lanes()
  local left = false
  for _, index in ipairs({NAME.seq, NAME.heads}) do
    local lanes = call('HKEYS', T .. index)
    lanes[#lanes + 1] = QUEUE
    for _, lane in ipairs(lanes) do
      local length = redis.pcall('LLEN', list_of(lane))   -- an error if the key holds no list
      if type(length) == 'number' and length > 0 then
        call('LTRIM', list_of(lane), ENTRIES, -1)   -- LPOP would also answer what it takes, and take thirty times as long
        left = left or length > ENTRIES
      end
    end
  end
  return left
end

if empty_lanes() then return {cursor, 0} end
local pattern = string.gsub(T, '[%*%?%[%]\\]', '\\%0') .. '*'
local found = call('SCAN', cursor, 'MATCH', pattern, 'COUNT', page)
local gone = 0
for _, key in ipairs(found[2]) do
  if key ~= KEY.meta then gone = gone + call('UNLINK', key) end
end
return {found[1], gone}
