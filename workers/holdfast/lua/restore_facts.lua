-- Put back what a ledger keeps besides tasks and this Redis has lost: schedules, bounds and pauses of lanes, hosts that claim
-- nothing, the queue's webhook.
-- What is put back is later than what this Redis remembers; what was set since its loss is later still.
-- KEYS: the public queue.
-- ARGV: the ledger's epoch, 1 if this Redis was set back to an earlier moment, then per fact its name, when it was seen (ms), its content as pairs with their length before them;
--       none: it was removed by then.
-- Answers: other: this Redis is not being rebuilt from that ledger, nothing was written. Or how many were put back.
-- Keeps: one schedule an id. Of a schedule that was set meanwhile to something else the new spec holds, and the old pause.
-- flags: allow-oom
-- use: scheduling bounding hushing
if call('HGET', T .. 'meta', 'rebuilding') ~= ARGV[1] then return 'other' end
local schedules = scheduling()
local at = 2
local function take()
  at = at + 1
  return ARGV[at]
end

local function take_fact()
  local fact = {name = take(), seen = tonumber(take()), pairs = {}, has = {}}
  for i = 1, tonumber(take()) do fact.pairs[i] = take() end
  for i = 1, #fact.pairs, 2 do fact.has[fact.pairs[i]] = fact.pairs[i + 1] end
  return fact
end

local restore = {}

-- Set meanwhile, by one who knows no ledger: another generation, whose pause is the old one.
local function go_between(key, has, generation)
  call('HSET', key, 'generation', math.max(tonumber(generation), tonumber(has.generation)) + 1, 'created', has.created,
    'paused', has.paused, 'until', has['until'], 'task', has.task, 'last', has.last or '')
end

function restore.schedule(id, fact)
  local key, has = schedules.hash(id), fact.has
  local r = call('HMGET', key, 'updated', 'spec', 'generation')
  if not has.spec then
    if r[1] and tonumber(r[1]) <= fact.seen then schedules.forget(id) end
    return
  end
  if r[1] and tonumber(r[1]) > tonumber(has.updated) and r[2] ~= has.spec then
    go_between(key, has, r[3])
  else
    call('DEL', key)
    call('HSET', key, unpack(fact.pairs))
    schedules.catch_up(id)
  end
  schedules.index(id)
  schedules.chronicle(id, 'restored', has.expected, '', '')
end

-- What operators said is as it was; what settings said since holds, and the rest of what they said comes back.
function restore.rules(_, fact)
  local rules, known = bounding(), {}
  local flat = call('HGETALL', T .. 'rules')
  for i = 1, #flat, 2 do known[flat[i]] = flat[i + 1] end
  local function put(field, value)
    local lane = string.match(field, '^paused:(.*)$')
    if not lane then return rules.say(field, value) end
    if value == '' then return rules.open(lane) end
    rules.close(lane, value)
  end
  for field in pairs(known) do
    if not fact.has[field] and not string.match(field, '^set:') then put(field, '') end
  end
  for field, value in pairs(fact.has) do
    if not (known[field] and string.match(field, '^set:')) then put(field, value) end
  end
  rules.count()
end

function restore.quiet(_, fact)
  call('DEL', T .. 'quiet')
  for host, word in pairs(fact.has) do call('HSET', T .. 'quiet', host, word) end
  mark_workers('*', true)
end

function restore.webhook(_, fact)
  local put = ARGV[2] == '1' and 'HSET' or 'HSETNX'   -- a Redis that was emptied may know it from settings that are newer
  if fact.has.url then call(put, T .. 'meta', 'webhook', fact.has.url) elseif put == 'HSET' then call('HDEL', T .. 'meta', 'webhook') end
end

local restored = 0
while at < #ARGV do
  local fact = take_fact()
  local kind, id = string.match(fact.name, '^(%a+)|(.*)$')
  restore[kind](id, fact)
  restored = restored + 1
end
return restored
