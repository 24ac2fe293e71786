-- Count the keys of the whole database, and find the share of this queue in a sample.
-- KEYS: the public queue. ARGV: the size of the sample, about.
-- Answers: {keys of the database, keys of the sample, keys of this queue among them}; zeros if the user lacks the right to count.
-- flags: no-writes, allow-oom
local size, found = redis.pcall('DBSIZE'), redis.pcall('SCAN', '0', 'COUNT', ARGV[1])
if type(size) ~= 'number' or found.err then return {0, 0, 0} end
local ours = 0
for _, key in ipairs(found[2]) do
  if key == QUEUE or string.sub(key, 1, #T) == T then ours = ours + 1 end
end
return {size, #found[2], ours}
