-- Delete tasks that have ended, with everything that is kept of them, before their retention is over.
-- KEYS: the public queue. ARGV: task ids. A task that has not ended, or that is not known, is left alone.
-- Answers: how many were deleted. A task stays for now if its children have not been told of its end,
--       or if one call cannot delete everything of it.
-- Keeps: I6, I14.
-- flags: allow-oom
-- use: deletion task_record
local ended = {}
for _, id in ipairs(ARGV) do
  if TERMINAL[read(id, 'state')[1]] then ended[#ended + 1] = id end
end
return (forget(ended, 'removed'))
