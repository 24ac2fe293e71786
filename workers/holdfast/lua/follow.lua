-- What has happened after a position, if this is the Redis that a ledger follows and it has forgotten nothing since.
-- KEYS: the public queue. ARGV: the ledger's epoch, position of the last event ingested ('' for none), the last event
--       that was seen ('' for none), limit.
-- Answers: {word, position of the last of these events ('' for none; if lost: of the last one that is left of what was
--       seen), 1 if there are more, ids they name, time (ms)}.
--       ok. missed: some events were trimmed unread. lost: this Redis has forgotten what was seen, or knows of no ledger.
--       other: it belongs to another ledger.
-- flags: no-writes, allow-oom
-- use: clock
local epoch, after, witness, limit = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local key = T .. 'events'

local function number(position)
  local ms, part = string.match(position, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(part)
end

local function is_before(one, other)
  local a, b = {number(one)}, {number(other)}
  return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end

local function standing()
  local owner = call('HGET', T .. 'meta', 'ledger')
  if not owner then return 'lost' end
  if owner ~= epoch then return 'other' end
  if witness == '' then return 'ok' end
  local first = call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
  if not first then return 'lost' end
  -- What was seen may have been trimmed since; then it was followed too slowly, and nobody knows what it has missed.
  if is_before(witness, first[1]) then return 'missed' end
  if #call('XRANGE', key, witness, witness) == 0 then return 'lost' end
  return after ~= '' and is_before(after, first[1]) and 'missed' or 'ok'
end

local word = standing()
if word == 'lost' and witness ~= '' then
  local left = call('XREVRANGE', key, witness, '-', 'COUNT', 1)[1]
  return {word, left and left[1] or '', 0, {}, NOW}
end
if word ~= 'ok' then return {word, '', 0, {}, NOW} end
local events = call('XRANGE', key, after == '' and '-' or '(' .. after, '+', 'COUNT', limit)
local ids, named = {}, {}
for _, event in ipairs(events) do
  local fields = event[2]
  for i = 1, #fields, 2 do
    local id = fields[i] == 'id' and fields[i + 1]
    if id and id ~= '' and not named[id] then
      named[id] = true
      ids[#ids + 1] = id
    end
  end
end
return {'ok', #events > 0 and events[#events][1] or after, #events == limit and 1 or 0, ids, NOW}
