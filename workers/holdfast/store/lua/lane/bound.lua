-- Change the bounds of lanes and handlers.
-- KEYS: the public queue.
-- ARGV: who says it: `asked` (an operator), or `set@<host>` (what the settings of a host say, all of it: what they said
--       before and say no longer goes); then per bound limit, keys, rate, name or end; the lane or handler; the value (rates as
--       count/period in ms/burst; tail of end; none: no bound; '' to remove the bound).
-- Answers: how many bounds changed.
-- Keeps: I16: where a limit is new, the permits of those that run already are made from the hashes `running`.
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
for i = 2, #ARGV, 3 do ask_back(ARGV[i + 1]) end   -- what has not begun is bounded, too
for field, value in pairs(wanted) do rules.say(field, value) end
return rules.count()
