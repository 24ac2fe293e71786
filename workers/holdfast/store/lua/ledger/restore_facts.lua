-- Put back the settings that this Redis has lost and its ledger keeps: schedules, limits and pauses of lanes, quiet hosts, the webhook of the
-- queue. If this Redis was set back to an earlier moment, the ledger's settings replace those here. If it was emptied, the settings here were
-- made since then, and stay.
-- KEYS: the public queue.
-- ARGV: the ledger's epoch, 1 if this Redis was set back, then for each setting its name, 1 if it was removed, and its content as pairs with
--       their length before them (of a removed setting the last content).
-- Answers: other: this Redis is not being rebuilt from that ledger, nothing was written. Or the number of settings.
-- Keeps: one schedule per id. A schedule that was changed meanwhile keeps its new spec, and gets its old pause.
-- flags: allow-oom
-- use: schedules bound_changes hosts
if call('HGET', KEY.meta, 'rebuilding') ~= ARGV[1] then return 'other' end
local schedules = scheduling()
local at = 2
local function take()
  at = at + 1
  return ARGV[at]
end

local SET_BACK = ARGV[2] == '1'

local function take_fact()
  local fact = {name = take(), removed = take() == '1', pairs = {}, has = {}}
  for i = 1, tonumber(take()) do fact.pairs[i] = take() end
  for i = 1, #fact.pairs, 2 do fact.has[fact.pairs[i]] = fact.pairs[i + 1] end
  return fact
end

local restore = {}

-- Restores a schedule that was changed since the loss: it gets a higher generation, and its old pause and last task.
local function go_between(key, has, generation)
  call('HSET', key, 'generation', math.max(tonumber(generation), tonumber(has.generation)) + 1, 'created', has.created,
    'paused', has.paused, 'until', has['until'], 'task', has.task, 'last', has.last or '')
end

local function remove_schedule(id, has, updated)
  local set_since = updated and has.updated and tonumber(updated) > tonumber(has.updated)
  if SET_BACK and updated and not set_since then schedules.forget(id) end
end

function restore.schedule(id, fact)
  local key, has = schedules.hash(id), fact.has
  local r = call('HMGET', key, 'updated', 'spec', 'generation', 'fires', 'owner')
  if fact.removed then return remove_schedule(id, has, r[1]) end
  local later = r[1] and tonumber(r[1]) - tonumber(has.updated) or -1
  if later == 0 and not SET_BACK and tonumber(r[4]) >= tonumber(has.fires) then return end
  if later > 0 and r[2] ~= has.spec then
    go_between(key, has, r[3])
  else
    call('DEL', key)
    call('HSET', key, unpack(fact.pairs))
    schedules.belong(id, r[5], has.owner)
    schedules.mark(id, has.declared)
    schedules.catch_up(id)
  end
  schedules.index(id)
  schedules.chronicle(id, 'restored', has.expected, '', '')
end

local function known_in(key)
  local known, flat = {}, call('HGETALL', key)
  for i = 1, #flat, 2 do known[flat[i]] = flat[i + 1] end
  return known
end

-- Restores limits and pauses of lanes. Limits that this Redis has from settings of hosts stay: their hosts have just set them.
function restore.rules(_, fact)
  local rules, known = bounding(), known_in(KEY.rules)
  local function put(field, value)
    local lane = string.match(field, '^paused:(.*)$')
    if not lane then return rules.say(field, value) end
    if value == '' then return rules.open(lane) end
    rules.close(lane, value)
  end
  local function may(field) return not known[field] or (SET_BACK and not string.match(field, '^set:')) end
  for field in pairs(known) do
    if (fact.removed or not fact.has[field]) and may(field) then put(field, '') end
  end
  if fact.removed then return rules.count() end
  for field, value in pairs(fact.has) do
    if may(field) or known[field] == value then put(field, value) end   -- an error may have cut it off
  end
  rules.count()
end

local function raise(field, number)
  if number > tonumber(call('HGET', KEY.meta, field) or '0') then call('HSET', KEY.meta, field, number) end
end

-- Keeps the numbers of halts rising. A halt that has ended must not end a process that was started after it.
local function keep_number(mark, said, lasts)
  if not select(2, mark_of(mark)) then return end
  local number = tonumber(string.match(said, '^%d+'))
  raise('halt', number)
  if lasts then raise(mark, number) end
end

function restore.quiet(_, fact)
  if SET_BACK then call('DEL', KEY.quiet) end
  for mark, said in pairs(fact.has) do
    keep_number(mark, said, not fact.removed)
    if not fact.removed then call('HSETNX', KEY.quiet, mark, said) end
  end
  mark_workers('*', true)
end

function restore.webhook(_, fact)
  if SET_BACK then call('HDEL', KEY.meta, 'webhook') end
  if not fact.removed then call('HSETNX', KEY.meta, 'webhook', fact.has.url) end
end

local restored = 0
while at < #ARGV do
  local fact = take_fact()
  local kind, id = string.match(fact.name, '^(%a+)|(.*)$')
  restore[kind](id, fact)
  restored = restored + 1
end
return restored
