-- The workers that serve some lanes and handlers, at one moment.
-- KEYS: the public queue. ARGV: lane, handler's name ('' for none), lane, name, …
-- Answers: for each pair {live workers; how many of them serve the lane; how many of these have the handler; the first of these, as host,
--       slot and pid; why the lane is paused (`since reason`, '': it is not); for how long (ms) tasks have waited at the gate of this
--       handler while no worker served it (-1: none waits there); the limits, as JSON, of the workers that serve the lane; those of all
--       live workers}.
-- flags: no-writes, allow-oom
-- use: unknown_handlers
local NAMED = 3
local gates = unknown()

-- The limits that these workers have registered, each text once, because most have registered the same.
local function limits_of(workers)
  local texts, known = {}, {}
  for _, worker in ipairs(workers) do
    if worker.limits and not known[worker.limits] then
      known[worker.limits] = true
      texts[#texts + 1] = worker.limits
    end
  end
  return texts
end

local function state_of(lane, name)
  local servers, first = gates.servers(lane, name), {}
  for i = 1, math.min(#servers, NAMED) do
    first[i] = {servers[i].host or '', servers[i].slot or '', servers[i].pid or ''}
  end
  local clock, since = gates.clock_of(lane, name)
  local waited = type(redis.pcall('ZSCORE', KEY.unknown .. lane, name)) == 'string' and clock - since or -1
  local all, in_lane = gates.all(), gates.servers(lane)
  return {#all, #in_lane, #servers, first, call('HGET', KEY.rules, 'paused:' .. lane) or '', waited, limits_of(in_lane),
    limits_of(all)}
end

local states = {}
for i = 1, #ARGV, 2 do states[#states + 1] = state_of(ARGV[i], ARGV[i + 1]) end
return states
