-- Delete entries that were set aside before a moment, the oldest first, in bounded steps.
-- KEYS: the public queue. ARGV: the moment (ms), limit.
-- Answers: how many were deleted.
-- flags: allow-oom
local kept, until_ms, gone = KEY.unreadable, tonumber(ARGV[1]), 0
for _, item in ipairs(call('LRANGE', kept, 0, tonumber(ARGV[2]) - 1)) do
  if tonumber(string.match(item, '^%d+')) > until_ms then break end
  gone = gone + 1
end
if gone > 0 then call('LPOP', kept, gone) end
return gone
