-- Delete, in bounded steps, the tasks and batches whose retention is over. Also delete the counts of pushes at the wrong end of a lane, if
-- the last such push was seen more than a day ago.
-- KEYS: the public queue. ARGV: keep (ms), limit, a moment (ms) before which the tasks must have ended ('' for none).
-- Answers: how many tasks were deleted; the limit if there is more to delete.
-- Keeps: I6, I14: nothing of a deleted task stays behind. A batch stays longer than its tasks, because it ends after them.
-- flags: allow-oom
-- use: clock deletion constants
local counts = call('HGETALL', KEY.wrong_end)   -- one field for each lane that a steward watches
for i = 1, #counts, 2 do
  local at = tonumber(string.match(counts[i + 1], '^%d+ (%d+)') or '0')
  if NOW - at > WRONG_END_KEPT_MS then call('HDEL', KEY.wrong_end, counts[i]) end
end

local until_then = NOW - tonumber(ARGV[1])
if ARGV[3] ~= '' then until_then = math.min(until_then, tonumber(ARGV[3]) - 1) end
local limit = tonumber(ARGV[2])
forget_batches(until_then, BATCHES_AT_ONCE)
local page = call('ZRANGEBYSCORE', KEY.finished, '-inf', until_then, 'LIMIT', 0, limit)
local forgotten, more = forget(page, 'trimmed')
if #page == limit and forgotten > 0 then more = true end   -- a task that stays for now does not hide the tasks behind it
return more and limit or forgotten
