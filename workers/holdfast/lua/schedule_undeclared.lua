-- Schedules of the code that no live worker declares, and that nobody removes by itself.
-- KEYS: the public queue. ARGV: how many at most.
-- Answers: id, owner, id, owner, … Nothing while no worker lives, or the code of one is not known.
-- flags: no-writes, allow-oom
-- use: scheduling catalogs
local found = {}
local _, rest = catalogs().undeclared(scheduling().owner)
for i = 1, math.min(#rest, tonumber(ARGV[1])) do
  found[#found + 1], found[#found + 2] = rest[i][1], rest[i][2]
end
return found
