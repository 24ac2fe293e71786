-- use: task_record lane journal task_end constants parents acceptance pause_requests joined_messages clock damage
-- provides: create unmake canceled_early cancel_early new_turn seen deliver_message answer_task UNKNOWN refuse next_pending record
-- provides: beginning
-- Submitted operations: each makes a task, or is one more message for a task.
local function create(id, lane, operation, message, digest, origin, seq)
  count('accepted')
  tell('accepted', id, origin)
  call('SET', KEY.op .. id, operation)
  write(id, 'state', 'submitted', 'lane', lane, 'turn', 1, 'message', message, 'digest', digest, 'seq', seq,
    'origin', origin, 'created', NOW)
end

-- Removes the record of a half-made task, so that a repeated submission makes it anew. Its ties stay. Answers true and the batch that it
-- has joined; false if it is not half-made.
local function unmake(id)
  if not is_half_made(id) then return false end
  local batch = read(id, 'batch')[1]
  call('UNLINK', KEY.task .. id)
  count('accepted', -1)
  return true, batch
end

local cancels_wait   -- 1 if cancels without a task are kept, 0 if not, nil before the first look

-- Ends a new task if a cancel for it came before. Answers true if it did.
local function canceled_early(id)
  cancels_wait = cancels_wait or call('EXISTS', KEY.cancels)
  if cancels_wait == 0 then return false end
  local at = call('ZSCORE', KEY.cancels, id)
  if not at then return false end
  call('ZREM', KEY.cancels, id)
  if NOW - at > CANCELS_KEPT_MS then return false end
  finish(id, 'canceled', 'canceled before it came', has_rest(id))
  note_end('canceled', id, 'canceled before it came')
  return true
end

-- Keeps a cancel whose task has not come yet, for a while: on another connection it may have overtaken the task. See canceled_early.
local function cancel_early(id)
  local cancels = KEY.cancels
  cancels_wait = 1
  call('ZADD', cancels, NOW, id)
  call('ZREMRANGEBYSCORE', cancels, '-inf', NOW - CANCELS_KEPT_MS)
  call('ZREMRANGEBYRANK', cancels, 0, -CANCELS_KEPT - 1)
end

local function new_turn(id, message, digest, operation)
  local turn = read(id, 'turn')[1]
  call('RPUSH', KEY.history .. id, operation_of(id) or '{}', call('GET', KEY.result .. id .. ':' .. turn) or '')
  call('SET', KEY.op .. id, operation)
  write(id, 'turn', turn + 1, 'message', message, 'digest', digest, 'attempts', 0, 'crashes', 0, 'recoveries', 0, 'solo', '', 'alone', '',
    'raised', '', 'deaths', '',
    'claim', '')
end

-- Compares the digests of two messages with one id: `conflict` if they differ, else `duplicate`. Digests of different kinds (own, foreign)
-- are not compared.
local function compare(known, digest)
  if string.sub(known, 1, 1) == string.sub(digest, 1, 1) and known ~= digest then return 'conflict' end
  return 'duplicate'
end

local function seen(id, message, digest)
  local r = read(id, 'message', 'digest')
  if r[1] == message then return compare(r[2], digest) end
  local known = call('HGET', KEY.messages .. id, message)
  return known and compare(known, digest)
end

-- True if no more messages may wait for this task. A message that a ledger has accepted is not refused for that: see guard.
local function is_full(id)
  local most = tonumber(call('HGET', KEY.meta, 'most_pending') or nil) or PENDING_KEPT
  return is_first_to_accept and call('LLEN', KEY.pending .. id) >= most
end

local function wait(id, message, digest, operation)
  call('RPUSH', KEY.pending .. id, message .. '|' .. digest .. '|' .. operation)
end

-- Delivers one more message to an existing task. Like a resume, it withdraws a pause that was requested. If a pause has interrupted the
-- turn, the turn runs again with this message as well. Answers duplicate, conflict, terminal, full, turn or pending.
local function deliver_message(id, operation, message, digest)
  local verdict = seen(id, message, digest)
  if verdict then return verdict end
  local r = read(id, 'state', 'message', 'digest', 'lane', 'claim', 'pause', 'turn')
  if TERMINAL[r[1]] then return 'terminal' end
  if not (r[2] and r[3] and r[4] and whole(r[7])) then error('the record of task ' .. id .. ' cannot be read: ' .. (flaw_in(facts(id)) or 'it has no field state'), 0) end
  if (not PARKED[r[1]] or r[1] == 'suspended') and is_full(id) then return 'full' end
  if PARKED[r[1]] then call('LLEN', KEY.history .. id) end   -- before a message is noted as seen
  if not PARKED[r[1]] or r[1] == 'suspended' then wait(id, message, digest, operation) end
  call('HSET', KEY.messages .. id, r[2], r[3], message, digest)
  count('messages')
  if PARKED[r[1]] and r[1] ~= 'suspended' then
    note('message', id, message)
    leave_index(id, r[1], r[4])
    new_turn(id, message, digest, operation)
    go_on(id)
    return 'turn'
  end
  if r[1] == 'suspended' then
    joins().go_on(id, r[4])
    return 'turn'
  end
  note('message-waits', id, message)
  if r[1] == 'working' then withdraw_pause(id, r[5], r[6], 'message ' .. message) end
  return 'pending'
end

-- Delivers a message that can make no task. Answers `unknown` if there is no such task.
local function answer_task(id, operation, message, digest)
  if call('EXISTS', KEY.task .. id) == 0 then return 'unknown' end
  return deliver_message(id, operation, message, digest)
end

-- Sets an entry aside if its verdict is a refusal. The entry was pushed, or its producer was told that it is accepted. Answers true if it
-- did.
local UNKNOWN = ' of an unknown task'
local function refuse(verdict, id, message, raw, lane)
  local why
  if verdict == 'unknown' then why = 'resume' .. UNKNOWN
  elseif verdict == 'terminal' then why = 'task ' .. id .. ' is ' .. read(id, 'state')[1]
  elseif verdict == 'full' then why = 'task ' .. id .. ' has as many waiting messages as are allowed'
  elseif verdict == 'conflict' then why = 'message ' .. message .. ' came before with other content'
  elseif verdict == 'taken' or verdict == 'other-batch' then why = 'task ' .. id .. ' exists already outside of this batch' end
  if why then set_aside(why, raw, lane) end
  return why ~= nil
end

-- Begins the next turn with the first waiting message. Answers true if there was one.
local function next_pending(id)
  local item = redis.pcall('LINDEX', KEY.pending .. id, 0)
  if type(item) ~= 'string' then return false end
  local message, digest, operation = string.match(item, '^([^|]*)|([^|]*)|(.*)$')
  if not message then   -- another program wrote it
    set_aside('it waited for task ' .. id .. ' and is no message', item, read(id, 'lane')[1])
    call('LPOP', KEY.pending .. id)
    return next_pending(id)
  end
  new_turn(id, message, digest, operation)
  call('LPOP', KEY.pending .. id)
  to_tail(id)
  note('turn', id, message)
  return true
end

-- Makes the record of a new task with its options. No lane has the task yet.
local function record(id, message, digest, operation, lane, name, attempts, timeout, key)
  create(id, lane, operation, message, digest, 'own', 0)
  if name ~= '' then write(id, 'name', name) end
  if attempts ~= '' then write(id, 'max_attempts', attempts) end
  if timeout ~= '' then write(id, 'timeout', timeout) end
  if key ~= '' then write(id, 'concurrency_key', key) end
end

-- When a new task may begin (ms); 0: now.
local function beginning(due, delay) return due ~= '' and tonumber(due) or (delay ~= '' and NOW + tonumber(delay)) or 0 end
