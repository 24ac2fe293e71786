-- The rollups of some stretches of time, one behind the other.
-- KEYS: the public queue. ARGV: what they are made of ('minutes', else the name of packed ones before their number), the first, how many.
-- Answers: {number, its fields as HGETALL gives them or its packed text, …} of those that are there.
-- flags: no-writes, allow-oom
local kind, first, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local found = {}
for n = first, first + count - 1 do
  local told
  if kind == 'minutes' then told = redis.pcall('HGETALL', KEY.rollup .. n) else told = redis.pcall('GET', KEY.rollups .. kind .. n) end
  local is_there = told and #told > 0   -- an error has no items: somebody has written something else there
  if is_there then found[#found + 1], found[#found + 2] = n, told end
end
return found
