-- Who serves what, at one moment.
-- KEYS: the public queue. ARGV: lane, handler's name ('' for none), lane, name, …
-- Answers: per pair {live workers, of these those that serve the lane, of these those that have the handler, the first of them
--           as host, slot and pid, why the lane is paused (`since reason`, ''), for how long (ms) tasks have waited at the gate of
--           that name while nobody served it (-1: none waits there)}.
-- flags: no-writes, allow-oom
-- use: record unknown
local NAMED = 3
local gates = unknown()

local function state_of(lane, name)
  local servers, first = gates.servers(lane, name), {}
  for i = 1, math.min(#servers, NAMED) do
    first[i] = {servers[i].host or '', servers[i].slot or '', servers[i].pid or ''}
  end
  local clock, since = gates.clock_of(lane, name)
  local waited = call('ZSCORE', T .. 'unknown:' .. lane, name) and clock - since or -1
  return {#gates.all(), #gates.servers(lane), #servers, first, call('HGET', T .. 'rules', 'paused:' .. lane) or '', waited}
end

local states = {}
for i = 1, #ARGV, 2 do states[#states + 1] = state_of(ARGV[i], ARGV[i + 1]) end
return states
