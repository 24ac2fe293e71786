-- Find declared schedules that no live worker declares any more, and that are not removed automatically.
-- KEYS: the public queue. ARGV: the token of the call before ('' at first), about how many schedules to look at.
-- Answers: {{token, 1 if the search has begun anew, 1 if it has more steps}; id, owner, id, owner, …}. None while no worker lives, or
--          while the catalog of a live worker is not known.
-- flags: no-writes, allow-oom
-- use: undeclared_schedules
local look = undeclared(ARGV[1])
local _, rest = look.step(tonumber(ARGV[2]))
local found = {}
for _, one in ipairs(rest) do found[#found + 1], found[#found + 2] = one[1], one[2] end
return {look.progress(), found}
