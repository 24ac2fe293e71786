-- Put back tasks that this Redis has lost and its ledger has, in the order given, each in its last state. A task that was working is
-- submitted again; a late result of its last claim counts until the next claim.
-- KEYS: the public queue.
-- ARGV: the ledger's epoch, then for each task the values that `dump` answers, each list with its length before it.
-- Answers: other: this Redis is not that ledger's, nothing was written. Or a word for each task:
--       restored.
--       there: this Redis has the task in the same or a later state; it takes only the messages that it lacks.
--       merged: this Redis has a later life of this id; that one takes the messages that had not run.
--       ended: this Redis is not being rebuilt, so only tasks that have ended go back, and this one has not.
--       damaged <reason>: the ledger's record is not whole, or a key here holds another type; the other tasks are put back.
-- A task that waits for parents may come before them, but parents that have ended must come first.
-- Keeps: I1, I3, I4, I5, I6, I7, I9, I10, I14, I15, I19. A task is replaced only by a later moment of its own life.
-- While a record is put back its field `restoring` says so. An error leaves the field there: the next rebuild puts the task back anew, unless
-- it has run meanwhile, and no ledger copies it before.
-- flags: allow-oom
-- use: earlier_record amendments acceptance messages ties parents parent_results batches webhook_outbox pause_requests joined_messages envelope damage clock journal lane task_record shared_keys kinds_of_errors
local meta = call('HMGET', KEY.meta, 'rebuilding', 'ledger')
local REBUILDING = meta[1] == ARGV[1]
accept_for_ledger()
local at = 1
local function take()
  at = at + 1
  return ARGV[at]
end

local function take_list()
  local items = {}
  for i = 1, tonumber(take()) do items[i] = take() end
  return items
end

local function take_task()
  local t = {id = take(), record = take_list(), dead = take(), operation = take(), history = take_list(), result = take(),
    pending = take_list(), messages = take_list(), checkpoint = take(), trail = take_list(), ties = take_list(),
    webhooks = take_list(), steps = take_list(), parents = take_list(), has = {}}
  for i = 1, #t.record, 2 do t.has[t.record[i]] = t.record[i + 1] end
  return t
end

-- How far the ledger's record is ahead of the one here: 1, 0 (they are of one moment) or -1. A higher turn counts most, then an outcome, a
-- change after the end, the deliveries, and the last request that was carried out.
local function ahead_of(has, turn, state, delivery, asked, amended)
  local function settled(word) return (TERMINAL[word] or (PARKED[word] and word ~= 'suspended')) and 1 or 0 end
  local epoch, changes = amendment_in(has.amended)
  local here, changes_here = amendment_in(amended)
  local a = {tonumber(has.turn), settled(has.state), epoch, changes, tonumber(has.delivery or '0'), tonumber(has.asked or '0')}
  local b = {tonumber(turn), settled(state), here, changes_here, tonumber(delivery or '0'), tonumber(asked or '0')}
  for i = 1, #a do
    if a[i] ~= b[i] then return a[i] > b[i] and 1 or -1 end
  end
  return 0
end

local tied, understand, results = ties(), envelope_reader(), parent_results()

-- Removes the earlier record, for the later one. One that was put back in part may stand in an index that its state does not name.
local function remove(id, is_part)
  if is_part then
    local lane = read(id, 'lane')[1]
    for _, key in ipairs({KEY.due, KEY.waiting}) do call('ZREM', key, id) end
    if lane then shared('ZREM', KEY.submitted .. lane, id) end
  end
  leave_place(id)
  results.release(id)
end

local OF_THE_PLACE = {state = true, owner = true, seq = true, due = true, reserved = true, progress = true, held = true,
  permits = true, unknown_at = true, aside = true, restoring = true}

local function push_all(key, items)
  for _, item in ipairs(items) do call('RPUSH', key, item) end
end

-- Deletes all keys of the task, because their content belongs to no record, or to an earlier one. Then writes the ledger's record.
local UNCOUNTED = 'uncounted'
local function put_content(t, is_new)
  local id = t.id
  call('DEL', KEY.task .. id, KEY.op .. id, KEY.history .. id, KEY.pending .. id, KEY.messages .. id, KEY.checkpoint .. id,
    KEY.trail .. id, KEY.retrying .. id, KEY.steps .. id, KEY.ties .. id, KEY.parents .. id)
  write(id, 'restoring', is_new and UNCOUNTED or '1', 'created', t.has.created)
  if is_new then
    count('accepted')
    write(id, 'restoring', '1')
  end
  for field, value in pairs(t.has) do
    if not OF_THE_PLACE[field] then write(id, field, value) end
  end
  call('SET', KEY.op .. id, t.operation)
  push_all(KEY.history .. id, t.history)
  for turn = 1, #t.history / 2 do
    if t.history[2 * turn] ~= '' then call('SET', KEY.result .. id .. ':' .. turn, t.history[2 * turn]) end
  end
  if t.result ~= '' then call('SET', KEY.result .. id .. ':' .. t.has.turn, t.result) end
  push_all(KEY.pending .. id, t.pending)
  for i = 1, #t.messages, 2 do call('HSET', KEY.messages .. id, t.messages[i], t.messages[i + 1]) end
  if t.checkpoint ~= '' then call('SET', KEY.checkpoint .. id, t.checkpoint) end
  push_all(KEY.trail .. id, t.trail)
  for i = 1, #t.steps, 2 do call('HSET', KEY.steps .. id, t.steps[i], t.steps[i + 1]) end
  for i = 1, #t.parents, 6 do results.put_back(id, unpack(t.parents, i, i + 5)) end
end

-- Adds the steps that this Redis, which was set back, no longer has. A handler that runs has read its own.
local function add_steps(t)
  for i = 1, #t.steps, 2 do call('HSETNX', KEY.steps .. t.id, t.steps[i], t.steps[i + 1]) end
end

local PATIENCE_MS = 3600000

local function tie_parent(id, parent)
  call('ZADD', tied.children_of(parent), call('HGET', KEY.counters, 'accepted'), id)
  tied.tie(id, 'parent', parent)
  local state = read(parent, 'state')[1]
  if not state then
    tied.agenda.put(NOW + PATIENCE_MS, 'settle', parent)   -- the parent may be put back later; after this time it counts as gone
  elseif TERMINAL[state] then
    tied.agenda.put(NOW, 'settle', parent)
  end
end

local function put_ties(t)
  for _, one in ipairs(t.ties) do
    local kind, name = string.match(one, '^(%a+)|(.*)$')
    if kind == 'parent' then
      tie_parent(t.id, name)
    elseif kind == 'expires' then
      tied.tie(t.id, 'expires', '')
      tied.agenda.put(t.has.expires, 'expire', t.id)
    elseif kind == 'batch' or kind == 'callback' then
      tied.tie(t.id, kind, name)
    elseif call('HSETNX', T .. kind, name, t.id .. '|') == 1 then
      tied.tie(t.id, kind, name)
    end
  end
end

local function put_ended(t)
  write(t.id, 'state', t.has.state, 'seq', 0, 'owner', '', 'due', '')
  count_in(KEY.finished, t.id, t.has.state, t.has.finished)
  if t.dead ~= '' then call('ZADD', KEY.dead, t.dead, t.id) end
  if call('EXISTS', tied.children_of(t.id)) == 1 then tied.agenda.put(NOW, 'settle', t.id) end
  tell_waiters(t.id, t.has.state)
end

local function put_in_place(t)
  local id, state = t.id, t.has.state
  if not TERMINAL[state] then tied.agenda.strike('settle', id) end
  if TERMINAL[state] then
    put_ended(t)
  elseif PARKED[state] then
    write(id, 'seq', 0)
    park(id, state, t.has.reason or '')
    if t.has.joining then joins().keep_on(id) end
  elseif state == 'delayed' then
    write(id, 'seq', 0)
    to_later(id, tonumber(t.has.due))
  elseif state == 'waiting' then
    write(id, 'seq', 0)
    waiting().hold(id)
  else
    to_tail(id)
    if state == 'working' then carry_out_pause(id, t.has.claim) end
  end
end

-- Gives messages that had not run to the task that is there. It knows by their digests which it has had.
local function give_messages(t, why)
  for _, item in ipairs(t.pending) do
    local message, digest, operation = string.match(item, '^([^|]*)|([^|]*)|(.*)$')
    local verdict = deliver_message(t.id, operation, message, digest)
    if verdict == 'terminal' or verdict == 'conflict' then
      set_aside('task ' .. t.id .. ' ' .. why .. ' before this message ran', operation, t.has.lane)
    end
  end
end

-- Adds the earlier messages of a turn of several: they are in its history, each with an empty result.
local function prepend_joined(t)
  local digests = {}
  for i = 1, #t.messages, 2 do digests[t.messages[i]] = t.messages[i + 1] end
  for i = #t.history, 2, -2 do
    if t.history[i] ~= '' then return end
    local _, _, message = understand(t.history[i - 1])
    if digests[message] then table.insert(t.pending, 1, message .. '|' .. digests[message] .. '|' .. t.history[i - 1]) end
  end
end

-- This Redis has another task of this id: messages that had not run are given to it.
local function merge(t)
  if TERMINAL[t.has.state] then return 'there' end
  if not PARKED[t.has.state] or t.has.state == 'suspended' then
    table.insert(t.pending, 1, t.has.message .. '|' .. t.has.digest .. '|' .. t.operation)
    prepend_joined(t)
  end
  give_messages(t, 'was made anew')
  return 'merged'
end

local function put_webhooks(t)
  local box = outbox()
  for i = 1, #t.webhooks, 5 do
    local name, turn, state, url, moment = unpack(t.webhooks, i, i + 4)
    if call('EXISTS', box.hash(name)) == 0 then box.put(t.id, turn, state, url, moment) end
  end
end

-- The reason why the ledger's record cannot be put back, or nil.
local function flaw_in_row(t)
  local r = {}
  for i, name in ipairs(FACTS) do r[i] = t.has[name] or false end
  return not r[12] and 'it has no field state' or flaw_in(r)
end

local function restore(t)
  local there, flaw = facts(t.id), flaw_in_row(t)
  flaw = flaw or (there[12] ~= false and flaw_in(there))
  if flaw then return 'damaged ' .. flaw end
  if not REBUILDING and not TERMINAL[t.has.state] then return 'ended' end
  local r = read(t.id, 'created', 'turn', 'state', 'delivery', 'asked', 'amended', 'restoring')
  if r[1] and r[1] ~= t.has.created and not r[7] then return merge(t) end
  local ahead = r[3] and ahead_of(t.has, r[2], r[3], r[4], r[5], r[6])
  local is_part = r[7] and (not r[3] or ahead == 0)
  if r[1] and not is_part and ahead ~= 1 then
    if r[3] ~= 'working' and r[2] == t.has.turn then add_steps(t) end
    give_messages(t, 'had ended')   -- this Redis may have been set back to a moment before these messages
    if t.has.batch then batching().put_back_again(t.id) end
    return 'there'
  end
  if r[1] then remove(t.id, is_part) end
  put_content(t, not r[1] or r[7] == UNCOUNTED)
  put_ties(t)
  if #t.webhooks > 0 then put_webhooks(t) end
  note('restored', t.id, t.has.state .. ' ' .. t.has.turn)
  put_in_place(t)
  if t.has.error then error_kinds().again(t.id, t.dead ~= '') end
  if t.has.batch then batching().put_back(t.id, t.has) end
  call('HDEL', KEY.task .. t.id, 'restoring')
  return 'restored'
end

if not REBUILDING and meta[2] ~= ARGV[1] then return {'other'} end
local answers = {}
while at < #ARGV do
  local went, answer = attempt(restore, take_task())
  answers[#answers + 1] = went and answer or 'damaged ' .. answer
end
return answers
