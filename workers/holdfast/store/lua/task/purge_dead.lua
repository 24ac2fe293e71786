-- Delete dead letters before their retention ends.
-- KEYS: the public queue. ARGV: task ids; one that is no dead letter (any more) is left alone.
-- Answers: how many were deleted.
-- Keeps: I6, I14.
-- flags: allow-oom
-- use: deletion
local letters = {}
for _, id in ipairs(ARGV) do
  if call('ZSCORE', KEY.dead, id) then letters[#letters + 1] = id end
end
return (forget(letters, 'removed'))
