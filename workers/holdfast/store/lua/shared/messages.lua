-- use: task_record lane journal task_end limits parents acceptance pause_requests joined_messages clock
-- provides: create canceled_early cancel_early new_turn seen deliver_message answer_task UNKNOWN refuse next_pending record
-- provides: beginning
-- A run operation: it makes a task, or is one more message for one.
local function create(id, lane, operation, message, digest, origin, seq)
  call('SET', T .. 'op:' .. id, operation)
  write(id, 'state', 'submitted', 'lane', lane, 'turn', 1, 'message', message, 'digest', digest, 'seq', seq,
    'origin', origin, 'created', NOW)
  count('accepted')
  tell('accepted', id, origin)
end

local cancels_wait   -- for their tasks, once that was looked for: 1 or 0

-- Whether a new task was canceled before it came: then it has ended.
local function canceled_early(id)
  cancels_wait = cancels_wait or call('EXISTS', T .. 'cancels')
  if cancels_wait == 0 then return false end
  local at = call('ZSCORE', T .. 'cancels', id)
  if not at then return false end
  call('ZREM', T .. 'cancels', id)
  if NOW - at > CANCELS_KEPT_MS then return false end
  finish(id, 'canceled', 'canceled before it came', false)
  note('canceled', id, 'canceled before it came')
  return true
end

-- A cancel may overtake its task: another lane, another connection. It is kept for a while; see canceled_early.
local function cancel_early(id)
  local cancels = T .. 'cancels'
  cancels_wait = 1
  call('ZADD', cancels, NOW, id)
  call('ZREMRANGEBYSCORE', cancels, '-inf', NOW - CANCELS_KEPT_MS)
  call('ZREMRANGEBYRANK', cancels, 0, -CANCELS_KEPT - 1)
end

local function new_turn(id, message, digest, operation)
  local turn = read(id, 'turn')[1]
  call('RPUSH', T .. 'history:' .. id, operation_of(id) or '{}', call('GET', T .. 'result:' .. id .. ':' .. turn) or '')
  call('SET', T .. 'op:' .. id, operation)
  write(id, 'turn', turn + 1, 'message', message, 'digest', digest, 'attempts', 0, 'crashes', 0, 'recoveries', 0, 'solo', '', 'alone', '',
    'raised', '', 'deaths', '',
    'claim', '')
end

-- Digests of one kind (own or foreign) tell whether the same message id came with other content.
local function compare(known, digest)
  if string.sub(known, 1, 1) == string.sub(digest, 1, 1) and known ~= digest then return 'conflict' end
  return 'duplicate'
end

local function seen(id, message, digest)
  local r = read(id, 'message', 'digest')
  if r[1] == message then return compare(r[2], digest) end
  local known = call('HGET', T .. 'messages:' .. id, message)
  return known and compare(known, digest)
end

-- Whether as many messages wait for it as may. Those that a ledger has accepted are not refused for that: see guard.
local function is_full(id)
  local most = tonumber(call('HGET', T .. 'meta', 'most_pending') or nil) or PENDING_KEPT
  return is_first_to_accept and call('LLEN', T .. 'pending:' .. id) >= most
end

local function wait(id, message, digest, operation)
  call('RPUSH', T .. 'pending:' .. id, message .. '|' .. digest .. '|' .. operation)
end

-- One more message for an existing task; like a resume it withdraws a pause that was asked for before. For a turn that was
-- interrupted by a pause it is further input: the turn runs again with it. Answers duplicate, conflict, terminal, full, turn or pending.
local function deliver_message(id, operation, message, digest)
  local verdict = seen(id, message, digest)
  if verdict then return verdict end
  local r = read(id, 'state', 'message', 'digest', 'lane', 'claim', 'pause')
  if TERMINAL[r[1]] then return 'terminal' end
  if (not PARKED[r[1]] or r[1] == 'suspended') and is_full(id) then return 'full' end
  call('HSET', T .. 'messages:' .. id, r[2], r[3], message, digest)
  count('messages')
  if PARKED[r[1]] and r[1] ~= 'suspended' then
    note('message', id, message)
    leave_index(id, r[1], r[4])
    new_turn(id, message, digest, operation)
    go_on(id)
    return 'turn'
  end
  wait(id, message, digest, operation)
  if r[1] == 'suspended' then
    joins().go_on(id, r[4])
    return 'turn'
  end
  note('message-waits', id, message)
  if r[1] == 'working' then withdraw_pause(id, r[5], r[6], 'message ' .. message) end
  return 'pending'
end

-- A message that makes no task: `unknown` where there is none.
local function answer_task(id, operation, message, digest)
  if call('EXISTS', T .. 'task:' .. id) == 0 then return 'unknown' end
  return deliver_message(id, operation, message, digest)
end

-- Set aside, as its verdict says, what was pushed and cannot be taken. Answers whether that is so.
local UNKNOWN = ' of an unknown task'
local function refuse(verdict, id, message, raw, lane)
  local why
  if verdict == 'unknown' then why = 'resume' .. UNKNOWN
  elseif verdict == 'terminal' then why = 'task ' .. id .. ' is ' .. read(id, 'state')[1]
  elseif verdict == 'full' then why = 'as many messages wait for task ' .. id .. ' as may'
  elseif verdict == 'conflict' then why = 'message ' .. message .. ' came before with other content' end
  if why then set_aside(why, raw, lane) end
  return why ~= nil
end

-- The next message that waited, if there is one, becomes the next turn.
local function next_pending(id)
  local item = call('LPOP', T .. 'pending:' .. id)
  if not item then return false end
  local message, digest, operation = string.match(item, '^([^|]*)|([^|]*)|(.*)$')
  new_turn(id, message, digest, operation)
  to_tail(id)
  note('turn', id, message)
  return true
end

-- A new task with what its producer asked for; it does not wait anywhere yet.
local function record(id, message, digest, operation, lane, name, attempts, timeout, key)
  create(id, lane, operation, message, digest, 'own', 0)
  if name ~= '' then write(id, 'name', name) end
  if attempts ~= '' then write(id, 'max_attempts', attempts) end
  if timeout ~= '' then write(id, 'timeout', timeout) end
  if key ~= '' then write(id, 'concurrency_key', key) end
end

-- When it may begin: 0 for now.
local function beginning(due, delay) return due ~= '' and tonumber(due) or (delay ~= '' and NOW + tonumber(delay)) or 0 end
