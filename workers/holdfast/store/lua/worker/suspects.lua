-- Count the suspects of some lanes that may start now: their lane is neither paused nor at its limit, nothing keeps them back, and this
-- pool has their handler. A suspect that is kept back, or whose handler no live worker has, goes to its gate.
-- If some may start, workers of processes that cannot fork are told to look, because no bell is rung for a suspect.
-- KEYS: the public queue. ARGV: how many workers of this pool are named, their incarnations, then the lanes. If none of the named workers
--       lives, tasks of any handler count.
-- Answers: {how many suspects may start, as far as this call looked; how many of them have to run while no other quarantine worker of their
--       host runs a task, because they are suspects for their recoveries}.
-- Keeps: I3.
-- flags: allow-oom
-- use: suspect_queue workers unknown_handlers serving_workers task_record
for _, incarnation in ipairs(call('SMEMBERS', KEY.quarantine)) do
  if not call('ZSCORE', KEY.workers, incarnation) then call('SREM', KEY.quarantine, incarnation) end
end
local waits_apart = call('HGETALL', KEY.apart)
for i = 1, #waits_apart, 2 do
  local r = read(waits_apart[i + 1], 'state', 'alone')
  if r[1] ~= 'submitted' or r[2] ~= '1' then call('HDEL', KEY.apart, waits_apart[i]) end
end

local LANES, NAMED = {}, tonumber(ARGV[1])
for i = NAMED + 2, #ARGV do LANES[#LANES + 1] = ARGV[i] end
local handlers   -- of this pool: '*', or the digests under which their names are kept

local function handlers_here()
  if handlers then return handlers end
  handlers = {}
  for i = 2, NAMED + 1 do
    local r = facts_of_worker(ARGV[i], 'state', 'names')
    if r[1] == 'live' then handlers[r[2] or '*'] = true end
  end
  if not next(handlers) then handlers['*'] = true end
  return handlers
end

local function is_for_us(name)
  for names in pairs(handlers_here()) do
    if has_name(names, name) then return true end
  end
  return false
end

local strangers
local function is_for_nobody(lane, name)
  strangers = strangers or unknown()
  return #strangers.servers(lane, name) == 0
end

local startable, alone, any = 0, 0, false
suspects().visit_all(LANES, function(id, lane, r)
  local name = r[5] or ''
  any = true
  if is_for_us(name) then
    startable = startable + 1
    if r[7] == '1' then alone = alone + 1 end
    return 'counts'
  elseif is_for_nobody(lane, name) then
    suspects().leave(id, lane, r[6])
    strangers.hold(id, lane, name, r[3])
  end
end)
if not any then return {0, 0} end
for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
  local single = facts_of_worker(incarnation, 'kind')[1] == 'single'
  if single and call('EXISTS', KEY.control .. incarnation) == 0 then hint(incarnation, 'look') end
end
return {startable, alone}
