-- Remove keys of the queue that hold a value of another type, because another program wrote there. Put back what the records say about
-- them.
-- KEYS: the public queue. ARGV: keys looked at in one page; 0: this call puts nothing back, the next call with a page does. Then perhaps
--       `again`:
--       begin the look through all keys even if no key was removed, because somebody may have deleted one.
-- Answers: {how many keys were removed, 1 if there is more to put back}.
-- Keeps: I3, I14. The value of such a key is lost already. Data that no record has begins anew: the ends of timed unique keys, figures.
-- The field `anew` of `meta` is the cursor of the look through all keys. Any steward continues it.
-- flags: allow-oom
-- use: queue_keys task_record journal clock ties damage schedules webhook_outbox workers lane shared_keys constants kinds_of_errors
local page = tonumber(ARGV[1])
local removed = damaged_queue_keys()

-- Lets the numbers of a lane continue after the highest one in use.
local function raise_number(lane)
  local last = shared('ZRANGE', KEY.submitted .. lane, -1, -1, 'WITHSCORES')[2]
  local number = math.floor(math.max(tonumber(last) or 0, tonumber(call('HGET', KEY.heads, lane) or '') or 0))
  if number < HIGHEST and number > (tonumber(call('HGET', KEY.seq, lane) or '') or 0) then call('HSET', KEY.seq, lane, string.format('%.0f', number)) end
end

-- Notes again which lanes are closed and which are turned, from the rules.
local function follow_rules()
  local rules = call('HGETALL', KEY.rules)
  for i = 1, #rules, 2 do
    local name, subject = string.match(rules[i], '^(%a+):(.*)$')
    local lane = string.match(rules[i], '^%a+:end:(.*)$')
    if name == 'paused' then call('HSET', KEY.closed, subject, 'paused') end
    if lane and string.match(rules[i + 1], '^tail') then call('SADD', KEY.turned, lane) end
  end
end

-- Begins the counts anew: each record is counted when it is put back.
local function count_anew() call('UNLINK', KEY.tally, KEY.finished, KEY.parked) end

if #removed > 0 then
  local are_counted = false
  for _, one in ipairs(removed) do
    call('UNLINK', one[1])
    are_counted = are_counted or one[1] == KEY.tally or one[1] == KEY.finished or one[1] == KEY.parked
  end
  if are_counted then count_anew() end
  for _, one in ipairs(removed) do
    set_aside('key ' .. one[1] .. ' held a ' .. one[2] .. ' and was removed; what records say of it is put back', one[1], QUEUE)
  end
  for _, lane in ipairs(call('HKEYS', KEY.heads)) do raise_number(lane) end
  follow_rules()
  call('HSET', KEY.meta, 'anew', '0')
end

-- True if the counts equal the sizes of the indexes. They differ if somebody has deleted an index.
local function is_counted()
  local sum, counts = 0, call('HGETALL', KEY.tally)
  for i = 2, #counts, 2 do sum = sum + (tonumber(counts[i]) or 0) end
  return sum == call('ZCARD', KEY.parked) + call('ZCARD', KEY.finished)
end

if ARGV[2] then
  if not is_counted() then count_anew() end
  follow_rules()
  call('HSET', KEY.meta, 'anew', '0')
end

local tied = ties()

local function count_again(index, id, state, at)
  if call('ZSCORE', index, id) then return end
  count_in(index, id, state, at)
end

local function tie_again(id, r)
  for _, one in ipairs(redis.pcall('SMEMBERS', KEY.ties .. id)) do
    local kind, name = string.match(one, '^(%a+)|(.*)$')
    if kind == 'unique' or kind == 'debounce' then call('HSETNX', T .. kind, name, id .. '|')
    elseif kind == 'expires' and whole(r[4]) then call('ZADD', KEY.agenda, 'NX', r[4], 'expire|' .. id) end
  end
end

-- True if the task has failed for good and was not retried; its trail tells.
local function is_dead(id, r)
  if r[1] ~= 'failed' or r[6] then return false end
  for _, line in ipairs(redis.pcall('LRANGE', KEY.trail .. id, -4, -1)) do
    if string.find(line, '^%d+ settled exhausted') or string.find(line, '^%d+ dead%-letter') then return true end
  end
  return false
end

local AGAIN = {}

function AGAIN.task(id)
  local r = read(id, 'state', 'due', 'finished', 'expires', 'joining', 'retried_as', 'error')
  local state = r[1]
  if not state or flaw_of(id) then return end
  if r[7] and not call('ZSCORE', KEY.errors, (error_kinds().parse(r[7])) or '') then error_kinds().again(id, is_dead(id, r)) end
  if state == 'delayed' then call('ZADD', KEY.due, 'NX', whole(r[2]) or NOW, id)
  elseif state == 'waiting' then call('ZADD', KEY.waiting, 'NX', NOW, id)
  elseif PARKED[state] then
    count_again(KEY.parked, id, state)
    if r[5] == '1' then call('SADD', KEY.joining, id) end
  elseif TERMINAL[state] then
    count_again(KEY.finished, id, state, whole(r[3]))
    if is_dead(id, r) then call('ZADD', KEY.dead, 'NX', whole(r[3]) or NOW, id) end
  end
  if not TERMINAL[state] then tie_again(id, r) elseif call('EXISTS', KEY.children .. id) == 1 then tied.agenda.put(NOW, 'settle', id) end
end

function AGAIN.children(id)
  local state = read(id, 'state')[1]
  if not state or TERMINAL[state] then tied.agenda.put(NOW, 'settle', id) end
end

function AGAIN.left(id) call('SADD', KEY.leftover, id) end
function AGAIN.about(id) call('ZADD', KEY.abouts, 'NX', NOW, id) end
function AGAIN.conversation(name) if not string.find(name, ':tasks$') then call('ZADD', KEY.conversations, 'NX', NOW, name) end end
-- The lane's gates are looked at again, because a call that should have opened a gate may not have found it.
function AGAIN.gates(lane)
  call('SADD', KEY.gated, lane)
  for _, gate in ipairs(shared('ZRANGE', KEY.gates .. lane, 0, GATES_AT_ONCE - 1)) do shared('ZADD', KEY.gates .. lane, 'XX', NOW, gate) end
  ring(lane)
end

function AGAIN.submitted(lane) raise_number(lane) end

function AGAIN.worker(incarnation)
  local r = facts_of_worker(incarnation, 'state', 'kind')
  if not r[1] or r[1] == 'dead' then return end
  call('ZADD', KEY.workers, 'NX', NOW, incarnation)
  if r[2] == 'quarantine' then call('SADD', KEY.quarantine, incarnation) end
end

function AGAIN.schedule(id)
  if not call('ZSCORE', KEY.schedules, id) and call('HEXISTS', KEY.schedule .. id, 'spec') == 1 then scheduling().index(id) end
end

function AGAIN.batch(batch)
  local r = call('HMGET', KEY.batch .. batch, 'digest', 'created', 'ended')
  if not r[1] then return end
  call('ZADD', KEY.batches, 'NX', whole(r[2]) or NOW, batch)
  if r[3] then call('ZADD', KEY.batches_ended, 'NX', whole(r[3]) or NOW, batch) else call('ZADD', KEY.batch_looks, 'NX', NOW, batch) end
end

function AGAIN.webhook(name)
  local box = outbox()
  box.plan(name, box.receiver_of_name(name), call('ZSCORE', box.index, name) or NOW)
end

local function go_on(cursor)
  local pattern = string.gsub(T, '[%*%?%[%]\\]', '\\%0') .. '*'
  local found = call('SCAN', cursor, 'MATCH', pattern, 'COUNT', page)
  for _, key in ipairs(found[2]) do
    local kind, name = string.match(string.sub(key, #T + 1), '^([%a_]+):(.*)$')
    if AGAIN[kind] then attempt(AGAIN[kind], name) end
  end
  if found[1] == '0' then call('HDEL', KEY.meta, 'anew') else call('HSET', KEY.meta, 'anew', found[1]) end
  return found[1] ~= '0'
end

local cursor = call('HGET', KEY.meta, 'anew')
local more = cursor and (page == 0 or go_on(cursor))
return {#removed, more and 1 or 0}
