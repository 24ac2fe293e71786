-- How many keys there are: of the whole database, and which share of some of them is of this queue.
-- KEYS: the public queue. ARGV: keys to look at.
-- Answers: {keys of the database, keys looked at, those of this queue among them}; zeros where the user may not ask.
-- flags: no-writes, allow-oom
local size, found = redis.pcall('DBSIZE'), redis.pcall('SCAN', '0', 'COUNT', ARGV[1])
if type(size) ~= 'number' or found.err then return {0, 0, 0} end
local ours = 0
for _, key in ipairs(found[2]) do
  if key == QUEUE or string.sub(key, 1, #T) == T then ours = ours + 1 end
end
return {size, #found[2], ours}
