-- Remove the schedules of each application's code that no live worker declares any more, while a pool of it serves.
-- KEYS: the public queue. ARGV: the token of the last call ('' at first), about how many schedules are looked at.
-- Answers: {{token, 1 where the look has begun anew, 1 where it has more steps}; what was removed, what no live worker declares and
--          stays: each id, owner, id, owner, …}. Nothing is looked at again before something has changed.
-- Keeps: a schedule that was not declared by code stays, as one that a live worker of any application declares, and one whose owner
--        is no application that serves. Nothing is removed while the code of a live worker is not known.
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
