-- Remove declared schedules that no live worker declares any more, while a pool of their application serves.
-- KEYS: the public queue. ARGV: the token of the call before ('' at first), about how many schedules to look at.
-- Answers: {{token, 1 if the search has begun anew, 1 if it has more steps}; the removed ones; the ones that no live worker declares and
--          that stay: each as id, owner, id, owner, …}. The search rests until something has changed.
-- Keeps: a schedule stays if code did not declare it, if a live worker of any application declares it, or if no pool of its owner
--        serves. Nothing is removed while the catalog of a live worker is not known.
-- flags: allow-oom
-- use: schedules catalogs undeclared_schedules
local look, schedules = undeclared(ARGV[1]), scheduling()
local gone, rest, used = look.step(tonumber(ARGV[2]))
if used then catalogs().forget_but(used) end
local removed, left = {}, {}
for _, one in ipairs(gone) do
  schedules.forget(one[1], 'no live worker of application ' .. one[2] .. ' declares it')
  removed[#removed + 1], removed[#removed + 2] = one[1], one[2]
end
for _, one in ipairs(rest) do left[#left + 1], left[#left + 2] = one[1], one[2] end
return {look.progress(), removed, left}
