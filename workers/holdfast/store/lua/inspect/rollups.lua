-- The rollups of several consecutive stretches of time.
-- KEYS: the public queue. ARGV: their kind (`minutes`; for packed ones, the part of the key's name before the number), the first number,
--       how many.
-- Answers: {number, rollup, …} of those that exist. A rollup is its fields as HGETALL gives them, or its packed text.
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
