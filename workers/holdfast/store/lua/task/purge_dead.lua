-- Delete dead letters before their retention is over.
-- KEYS: the public queue. ARGV: task ids. A task that is not (or no longer) a dead letter is left alone.
-- Answers: how many were deleted.
-- Keeps: I6, I14.
-- flags: allow-oom
-- use: deletion
local letters = {}
for _, id in ipairs(ARGV) do
  if call('ZSCORE', KEY.dead, id) then letters[#letters + 1] = id end
end
return (forget(letters, 'removed'))
