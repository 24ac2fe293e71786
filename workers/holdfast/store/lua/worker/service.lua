-- The workers that serve lanes and handlers, at one moment.
-- KEYS: the public queue. ARGV: lane, handler's name ('' for none), lane, name, …
-- Answers: per pair {live workers, of these those that serve the lane, of these those that have the handler, the first of them
--           as host, slot and pid, why the lane is paused (`since reason`, ''), for how long (ms) tasks have waited at the gate of
--           that name while nobody served it (-1: none waits there), limits as JSON that workers of the lane registered, that all did}.
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
