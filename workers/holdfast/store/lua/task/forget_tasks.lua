-- Delete tasks that have ended, with all that is kept of them, before their retention ends.
-- KEYS: the public queue. ARGV: task ids; one that has not ended, or is not known, is left alone.
-- Answers: how many were deleted. One whose children have not been told of its end yet
--       stays, and one of which there is more to delete.
-- Keeps: I6, I14.
-- flags: allow-oom
-- use: deletion task_record
local ended = {}
for _, id in ipairs(ARGV) do
  if TERMINAL[read(id, 'state')[1]] then ended[#ended + 1] = id end
end
return (forget(ended, 'removed'))
