-- Read the events after a position, for the ledger that follows this Redis, if none of them is lost.
-- KEYS: the public queue. ARGV: the ledger's epoch, position of the last event ingested ('' for none), the last event
--       that was seen ('' for none), limit.
-- Answers: {word (see ledger_standing); the position of the last of these events ('' for none; if the word is lost: of the last event that
--       the ledger has seen and that is still here); 1 if there are more; the tasks that they name; the time (ms); the settings that they name;
--       for each of these the last request that was carried out on it ('' for none); the removals: for each the task id, when that life of
--       it was created, the epoch and number of the removal (see amendments); 1 if nobody claims until this Redis is confirmed (see doubt)}.
-- flags: no-writes, allow-oom
-- use: ledger_standing clock
local epoch, after, witness, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local key = KEY.events
local word = standing(epoch, witness, after)
if word == 'lost' and witness ~= '' then
  local left = call('XREVRANGE', key, witness, '-', 'COUNT', 1)[1]
  return {word, left and left[1] or '', 0, {}, NOW, {}, {}, {}, 0}
end
if word ~= 'ok' then return {word, '', 0, {}, NOW, {}, {}, {}, 0} end

local ids, named, facts, requests, places, removals = {}, {}, {}, {}, {}, {}

local function name_fact(name, request)
  local place = places[name]
  if not place then
    place = #facts + 1
    places[name], facts[place], requests[place] = place, name, ''
  end
  if request then requests[place] = request end
end

local function name_task(id)
  if id == '' or named[id] then return end
  named[id] = true
  ids[#ids + 1] = id
end

local function name_removal(id, detail)
  local created, epoch, number = string.match(detail, '^(%d+) (%d+) (%d+)$')
  for _, word in ipairs(created and {id, created, epoch, number} or {}) do removals[#removals + 1] = word end
end

local function read_event(fields)
  local e = {}
  for i = 1, #fields, 2 do e[fields[i]] = fields[i + 1] end
  local of = string.match(e.event, '^%a+')
  if e.event == 'requested' then return name_fact(e.id, e.detail) end
  if of == 'schedule' then return name_fact('schedule|' .. e.id) end
  if of == 'lane' then return name_fact('rules|') end
  if of == 'host' then return name_fact('quiet|') end
  if of == 'batch' then return end   -- the records of a batch's tasks tell everything about it
  if e.event == 'removed' then return name_removal(e.id, e.detail) end
  if e.event == 'webhook-set' then return name_fact('webhook|') end
  for id in string.gmatch(e.id, '%S+') do name_task(id) end   -- see tell_each
end

local events = call('XRANGE', key, after == '' and '-' or '(' .. after, '+', 'COUNT', limit)
for _, event in ipairs(events) do read_event(event[2]) end
return {'ok', #events > 0 and events[#events][1] or after, #events == limit and 1 or 0, ids, NOW, facts, requests, removals, call('HEXISTS', KEY.closed, '')}
