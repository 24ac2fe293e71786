-- Change the bounds of lanes and handlers.
-- KEYS: the public queue.
-- ARGV: who sets them: `asked` (an operator) or `set@<host>` (the settings of a host; these arguments are all bounds that they have, so a
--       bound that they had before and have no longer is removed). Then for each bound: its kind (limit, keys, rate, name or end), the lane
--       or handler, the value. A rate is count/period in ms/burst; an end is `tail`; `none` means no bound; '' removes the bound.
-- Answers: how many bounds changed.
-- Keeps: I16: for a new limit, the permits of the tasks that already run are made from the hashes `running`.
-- flags:
-- use: claims_ahead bound_changes
local who = ARGV[1]
local host = string.match(who, '^set@(.*)$')
local prefix = host and 'set:' or 'asked:'
local rules, wanted = bounding(), {}

for i = 2, #ARGV, 3 do
  local value = ARGV[i + 2]
  if host and value ~= '' then value = value .. '@' .. host end
  wanted[prefix .. ARGV[i] .. ':' .. ARGV[i + 1]] = value
end
if host then
  local known = call('HGETALL', KEY.rules)
  for i = 1, #known, 2 do
    local said_by = string.match(known[i], '^set:') and string.match(known[i + 1], '@(.*)$')
    if said_by == host and not wanted[known[i]] then wanted[known[i]] = '' end
  end
end
for i = 2, #ARGV, 3 do ask_back(ARGV[i + 1]) end   -- the new bound counts for tasks that are claimed and have not begun
for field, value in pairs(wanted) do rules.say(field, value) end
return rules.count()
