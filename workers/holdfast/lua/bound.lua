-- Change the bounds of lanes and handlers.
-- KEYS: the public queue.
-- ARGV: who says it: `asked` (an operator), or `set@<host>` (what the settings of a host say, all of it: what they said
--       before and say no longer goes); then per bound limit, keys, rate, name or end; the lane or handler; the value (rates as
--       count/period in ms/burst; tail of end; none: no bound; '' to take the word back).
-- Answers: how many words changed.
-- Keeps: I16: where a limit is new, the permits of those that run already are made from the hashes `running`.
-- flags:
-- use: alarms
local who = ARGV[1]
local host = string.match(who, '^set@(.*)$')
local prefix = host and 'set:' or 'asked:'
local wanted, touched, changed = {}, {}, 0

local function say(field, value)
  local known = call('HGET', T .. 'rules', field)
  if (known or '') == value then return end
  if value == '' then call('HDEL', T .. 'rules', field) else call('HSET', T .. 'rules', field, value) end
  changed = changed + 1
  local name, subject = string.match(field, '^%a+:(%a+):(.*)$')
  touched[#touched + 1] = {name, subject}
end

for i = 2, #ARGV, 3 do
  local value = ARGV[i + 2]
  if host and value ~= '' then value = value .. '@' .. host end
  wanted[prefix .. ARGV[i] .. ':' .. ARGV[i + 1]] = value
end
if host then
  local known = call('HGETALL', T .. 'rules')
  for i = 1, #known, 2 do
    local said_by = string.match(known[i], '^set:') and string.match(known[i + 1], '@(.*)$')
    if said_by == host and not wanted[known[i]] then wanted[known[i]] = '' end
  end
end
for field, value in pairs(wanted) do say(field, value) end
BOUNDED = true

-- The permits of a lane: of what runs there, if it has a limit.
local function count_running(lane)
  for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
    for _, id in ipairs(call('HKEYS', running_of(incarnation))) do
      local r = read(id, 'state', 'lane', 'concurrency_key')
      if r[1] == 'working' and r[2] == lane then
        call('SADD', T .. 'active:' .. lane, id)
        write(id, 'permits', r[3] and 'kl' or 'l')
      end
    end
  end
end

local function apply(name, subject)
  if name == 'limit' then
    call('DEL', T .. 'active:' .. subject)
    if bounds().rule('limit', subject) then count_running(subject) end
  elseif name == 'end' then
    call(bounds().rule('end', subject) == 'tail' and 'SADD' or 'SREM', T .. 'turned', subject)
  elseif (name == 'rate' or name == 'name') and not bounds().rule(name, subject) then
    call('HDEL', T .. 'rates', name .. ':' .. subject)
  end
  if name ~= 'name' then bounds().reopen(subject) end
end

local function look_at_gates_again()
  for _, lane in ipairs(call('SMEMBERS', T .. 'gated')) do
    for _, gate in ipairs(call('ZRANGE', T .. 'gates:' .. lane, 0, -1)) do call('ZADD', T .. 'gates:' .. lane, NOW, gate) end
    bounds().reopen(lane)
  end
end

for _, one in ipairs(touched) do apply(one[1], one[2]) end
if changed > 0 then look_at_gates_again() end
return changed
