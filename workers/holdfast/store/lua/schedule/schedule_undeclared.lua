-- Schedules of code that no live worker declares, and that are not removed automatically.
-- KEYS: the public queue. ARGV: the token of the last call ('' at first), about how many schedules are looked at.
-- Answers: {{token, 1 where the look has begun anew, 1 where it has more steps}; id, owner, id, owner, …}. Nothing while no worker
--          lives, or the code of one is not known.
-- flags: no-writes, allow-oom
-- use: undeclared_schedules
local look = undeclared(ARGV[1])
local _, rest = look.step(tonumber(ARGV[2]))
local found = {}
for _, one in ipairs(rest) do found[#found + 1], found[#found + 2] = one[1], one[2] end
return {look.progress(), found}
