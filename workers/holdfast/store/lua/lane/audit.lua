-- Find own entries that somebody else took from a lane, and put them back in order.
-- A submitted task whose number is below the lowest own number in the head window has no entry left; it must be seen so
-- twice, unmoved, because one look can be deceived. Redelivered and foreign entries only lower the window, which makes
-- the look blind, never wrong. A number that the record does not confirm is nobody's: anybody can write entries. What
-- many deaths at once have put back may stand behind the window with a lower number: so the head is searched for it, too.
-- KEYS: the public queue. ARGV: lane, limit, cursor ('' to begin).
-- And it compares permits with the truth: the lane's, and those of some keys that others wait for.
-- Answers: {how many were put back, next cursor ('' to begin again)}.
-- Keeps: I4, I16.
-- flags: allow-oom
-- use: task_record lane lane_front journal gates damage gate_keys limits
local WINDOW = 64
local SEARCHED = 1024   -- entries from the head
local COMPARED = 16     -- keys
local SEARCHES = 24     -- of the head, in one step: some milliseconds of the server; the others stay suspects
local PERMITS = 256     -- of a lane or a key, chosen at random
local lane, limit, cursor = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local suspects_key = KEY.audit .. lane
if call('EXISTS', KEY.submitted .. lane, suspects_key, KEY.active .. lane, KEY.gates .. lane) == 0 then return {0, ''} end

-- Gives back a permit whose task does not run or does not exist.
local function compare_permits(permits)
  local lost = 0
  for _, id in ipairs(call('SRANDMEMBER', permits, PERMITS)) do
    if read(id, 'state')[1] ~= 'working' then lost = lost + call('SREM', permits, id) end
  end
  if lost > 0 then count('permits', lost) end
  return lost
end

if compare_permits(KEY.active .. lane) > 0 then bounds().reopen(lane) end
for _, gate in ipairs(call('ZRANDMEMBER', KEY.gates .. lane, COMPARED)) do
  local key = string.match(gate, '^key:(.*)$')
  if key and compare_permits(KEY.keyed .. key) > 0 then bounds().open_key_gates(key) end
end

local window = front_of(lane, WINDOW)
local lowest
for _, raw in ipairs(window) do
  local id, seq = own(raw)
  if id and read(id, 'seq')[1] == seq and (not lowest or tonumber(seq) < lowest) then lowest = tonumber(seq) end
end
if not lowest and #window > 0 then return {0, ''} end   -- only foreign entries at the head: blind for now

local function suspects()
  local from = cursor ~= '' and '(' .. cursor or '-inf'
  local to = lowest and '(' .. lowest or '+inf'
  return call('ZRANGEBYSCORE', KEY.submitted .. lane, from, to, 'LIMIT', 0, limit)
end

local function is_there(id, seq)
  local operation = operation_of(id)   -- without one there is no entry that could be put back
  return not operation or place_in(lane, entry(id, seq, operation), SEARCHED)
end

local previous = {}
for _, key in ipairs(call('SMEMBERS', suspects_key)) do previous[key] = true end
call('DEL', suspects_key)
local seen_twice, fresh, last = {}, 0, ''
local function suspect(key)
  call('SADD', suspects_key, key)
  fresh = fresh + 1
end

local ids = suspects()
-- True if it waits beside the lane: at a gate, or among the suspects.
local function waits_beside(id, solo, gate)
  if gate and gate ~= '' then return call('ZSCORE', held_of(lane, gate), id) end
  return solo == '1'
end

for _, id in ipairs(ids) do
  local r = read(id, 'seq', 'delivery', 'solo', 'held')
  last = tonumber(r[1] or nil) and r[1] or last
  local key = id .. ':' .. (r[1] or '') .. ':' .. (r[2] or '0')
  if flaw_in(facts(id)) then
    call('ZREM', KEY.submitted .. lane, id)   -- its record was deleted or damaged by somebody
  elseif waits_beside(id, r[3], r[4]) then
    -- it has no entry in the lane
  elseif previous[key] then
    seen_twice[#seen_twice + 1] = {id, r[1], key}
  else
    suspect(key)
  end
end

-- Puts back the highest number first: a task that is put back hides only those with higher numbers.
local missing, bytes = {}, 0
for i = #seen_twice, 1, -1 do
  local id, seq, key = unpack(seen_twice[i])
  if #seen_twice - i >= SEARCHES or bytes >= WINDOW_BYTES then suspect(key)
  else
    bytes = bytes + #(operation_of(id) or '')
    if not is_there(id, seq) then missing[#missing + 1] = id end
  end
end
for _, id in ipairs(missing) do
  note('put-back', id, 'its entry was taken from the lane')
  local gate = read(id, 'held')[1]
  if gate and gate ~= '' then leave_gate(id, lane, gate) end
  to_head(id)
end
if #missing > 0 then count('stolen', #missing) end
-- A page with suspects is looked at again before the next one.
if fresh > 0 then return {#missing, cursor} end
return {#missing, #ids == limit and last or ''}
