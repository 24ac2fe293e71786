-- Lanes as an operator sees them, at one moment.
-- KEYS: the public queue. ARGV: lanes to list even if no task came through them, they have no bounds, and nobody filled them at the wrong
--       end.
-- Answers: {now (ms), lanes, the rules as pairs, live workers}. Of each lane: {lane; entries without those known to be stale; tasks that
--       wait at gates (at least); running tasks; when the oldest task was submitted (ms, -1: none); paused (`since reason`, '': it is not);
--       why it is closed ('': it is not); workers that serve it; what they registered of it as JSON (a list of lists: name, weight,
--       timeout); handlers that none of these workers has, each followed by the number of tasks that wait for it; foreign entries that were
--       pushed at its front (`count when`, in ms; '': none)}.
-- flags: no-writes, allow-oom
-- use: task_record clock stale_entries unknown_handlers constants workers shared_keys
local lanes = {}
for _, lane in ipairs(ARGV) do lanes[lane] = true end
local gates = unknown()
for _, index in ipairs({NAME.seq, NAME.heads}) do
  for _, lane in ipairs(call('HKEYS', T .. index)) do lanes[lane] = true end
end
local rules = call('HGETALL', KEY.rules)
for i = 1, #rules, 2 do
  local lane = string.match(rules[i], '^paused:(.*)$') or string.match(rules[i], '^%a+:limit:(.*)$')
    or string.match(rules[i], '^%a+:keys:(.*)$') or string.match(rules[i], '^%a+:rate:(.*)$')
    or string.match(rules[i], '^%a+:end:(.*)$')
  if lane then lanes[lane] = true end
end

local running = {}
for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
  for _, id in ipairs(running_ids(incarnation)) do
    local lane = read(id, 'lane')[1]
    if lane then running[lane] = (running[lane] or 0) + 1 end
  end
end

-- How many tasks wait at the gates of a lane. After GATES_AT_ONCE gates, each further gate counts as one task.
local function held_in(lane)
  local function beyond(index) return math.max(0, size_of('ZCARD', T .. index .. lane) - GATES_AT_ONCE) end
  local held = beyond(NAME.gates) + beyond(NAME.unknown)
  for _, gate in ipairs(members_of('ZRANGE', KEY.gates .. lane, 0, GATES_AT_ONCE - 1)) do held = held + size_of('ZCARD', held_of(lane, gate)) end
  for _, name in ipairs(members_of('ZRANGE', KEY.unknown .. lane, 0, GATES_AT_ONCE - 1)) do
    held = held + size_of('ZCARD', gates.held_at(lane, name))
  end
  return held
end

local function oldest_in(lane)
  local first = members_of('ZRANGE', KEY.submitted .. lane, 0, 0)[1]
  return first and whole(read(first, 'created')[1]) or -1
end

-- The registrations of the workers that serve a lane; equal texts once.
local function registered_in(servers, lane)
  local texts, seen = {}, {}
  for _, worker in ipairs(servers) do
    local text = worker.lanes and cjson.encode(worker.lanes[lane])
    if text and not seen[text] then
      seen[text] = true
      texts[#texts + 1] = text
    end
  end
  return '[' .. table.concat(texts, ',') .. ']'
end

local SHOWN = 16   -- the most missing handlers that are named for a lane

local function missing_in(lane)
  local missing = {}
  for _, name in ipairs(members_of('ZRANGE', KEY.unknown .. lane, 0, SHOWN - 1)) do
    if #gates.servers(lane, name) == 0 then
      missing[#missing + 1] = name
      missing[#missing + 1] = size_of('ZCARD', gates.held_at(lane, name))
    end
  end
  return missing
end

for lane in pairs(gates.lanes()) do lanes[lane] = true end
for _, lane in ipairs(call('HKEYS', KEY.wrong_end)) do lanes[lane] = true end
local told = {}
for lane in pairs(lanes) do
  local servers = gates.servers(lane)
  told[#told + 1] = {lane, waiting_in(lane), held_in(lane), running[lane] or 0, oldest_in(lane),
    call('HGET', KEY.rules, 'paused:' .. lane) or '', call('HGET', KEY.closed, lane) or '',
    #servers, registered_in(servers, lane), missing_in(lane), call('HGET', KEY.wrong_end, lane) or ''}
end
return {NOW, told, rules, #gates.all()}
