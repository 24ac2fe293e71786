-- Remove the schedules of each application's code that none of its live workers declares any more, while a pool of it serves.
-- KEYS: the public queue. ARGV: the picture of what workers declare that the last call answered ('' at first), how many at most.
-- Answers: {the picture; what was removed, what no live worker declares and stays: each id, owner, id, owner, …}. Of a picture
--          that was seen nothing is looked at; '' where there is more to remove.
-- Keeps: a schedule that was not declared by code stays, as one whose owner is no application that serves. Nothing is removed
--        while the code of a live worker is not known.
-- flags: allow-oom
-- use: scheduling catalogs
local seen, limit = ARGV[1], tonumber(ARGV[2])
local code, schedules = catalogs(), scheduling()
if code.picture() == seen then return {seen, {}, {}} end

local function forget_catalogs()
  local used = {}
  for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
    local digest = call('HGET', T .. 'worker:' .. incarnation, 'catalog')
    if digest then used[digest] = true end
  end
  for _, digest in ipairs(call('HKEYS', T .. 'catalogs')) do
    if not used[digest] then call('HDEL', T .. 'catalogs', digest) end
  end
end

forget_catalogs()
local gone, rest = code.undeclared(schedules.owner)
local removed, left = {}, {}
for i = 1, math.min(#gone, limit) do
  local id, owner = gone[i][1], gone[i][2]
  schedules.forget(id, 'no live worker of application ' .. owner .. ' declares it')
  removed[#removed + 1], removed[#removed + 2] = id, owner
end
for i = 1, math.min(#rest, limit) do
  left[#left + 1], left[#left + 2] = rest[i][1], rest[i][2]
end
return {#gone > limit and '' or code.picture(), removed, left}
