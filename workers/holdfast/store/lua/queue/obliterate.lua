-- Delete everything of the namespace but which version it belongs to, in bounded steps.
-- KEYS: the public queue. ARGV: cursor (0 to begin), keys looked at in one step, force (1: even under workers).
-- Answers: {cursor (0 at the end; busy: workers are there, nothing was deleted), keys deleted; workers}.
-- flags: allow-oom
-- use: lane
local ENTRIES = 10000   -- taken from one list in one step
local cursor, page, force = ARGV[1], ARGV[2], ARGV[3] == '1'
local workers = call('ZCARD', KEY.workers)
if workers > 0 and not force then return {'busy', workers} end

-- Lists of any name may be lanes. They are emptied first, while it is known which they are. Answers whether one is left.
local function empty_lanes()
  local left = false
  for _, index in ipairs({NAME.seq, NAME.heads}) do
    local lanes = call('HKEYS', T .. index)
    lanes[#lanes + 1] = QUEUE
    for _, lane in ipairs(lanes) do
      local length = redis.pcall('LLEN', list_of(lane))   -- an error where somebody made it something else than a list
      if type(length) == 'number' and length > 0 then
        call('LTRIM', list_of(lane), ENTRIES, -1)   -- what LPOP takes it would answer, too: thirty times as long
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
