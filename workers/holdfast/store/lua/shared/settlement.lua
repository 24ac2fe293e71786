-- use: task_record lane journal task_end messages gates pause_requests damage joined_messages clock webhook_outbox rollup kinds_of_errors
-- provides: settle
-- Settles claims: records the outcome of a run, or puts the task back.
--
-- Rule 1. Only the present claim of a task settles it. Claims are compared for equality, not by order: a number can go back when Redis
-- loses writes, and a process that was declared dead could then commit.
-- Rule 2. A settlement counts once. A worker that lost the answer sends it again; the last claim in the record shows that, and the answer
-- is ALREADY.
-- Rule 3. A result still counts after its worker was declared dead, until another worker claims the task. A return does not count then,
-- because the task was put back already.
-- Rule 4. A task whose record is damaged settles nothing. It is set aside, and its permits go to others.
--
-- Theory of operation. `settle_one` compares the claim and frees the place in the lane. `commit` records an outcome: the task ends, parks,
-- or continues with the next message. `put_back` does the rest: retry, sleep, release, pause.
--
-- Warning. The task leaves the index of working tasks last. After an error before that, the index still leads to the task, and `end_again`
-- completes its end.
local COMMITS = {
  completed = 'completed', failed = 'failed', rejected = 'rejected', exhausted = 'failed', unreadable = 'rejected',
  ['input-required'] = 'input-required', ['auth-required'] = 'auth-required',
}
local UNENDED = {release = true, returned = true, defer = true}

local function let_go(id, s)
  write(id, 'last_claim', s.claim, 'claim', '', 'owner', '')
end

-- The next run, or the next turn, begins without progress. A task that has ended, or that asks for something, keeps its last progress.
local function forget_progress(id, s)
  if s.has_progress then call('HDEL', KEY.task .. id, 'progress') end
end

local function commit(id, s, state, turn)
  call('SET', KEY.result .. id .. ':' .. turn, s.result)
  note('settled', id, s.kind .. ' ' .. turn .. ' ' .. s.claim .. ' ' .. s.reason)
  if s.kind == 'exhausted' then
    call('HINCRBY', KEY.task .. id, 'attempts', 1)
    call('ZADD', KEY.dead, NOW, id)
    count('dead')
  elseif s.kind == 'unreadable' then
    set_aside(s.reason, operation_of(id) or '', read(id, 'lane')[1])
  end
  local rest = has_rest(id)
  if PARKED[state] or (state == 'completed' and rest) then let_go(id, s) end
  if rest and state == 'completed' then forget_progress(id, s) end
  if rest and (state == 'completed' or PARKED[state]) and next_pending(id) then
    tell_waiters(id, 'turn')
    carry_out_pause(id, s.claim)
  elseif PARKED[state] then
    park(id, state, s.reason)
    attempt(tell_webhook, id, state, turn, s.known[4])
  else
    finish(id, state, s.reason, rest, s.known, 'last_claim', s.claim)
  end
end

-- True if a message has withdrawn the pause. The interrupted turn then runs again with this message.
local function is_message(id, why)
  local message = string.match(why, '^message (%S+)$')
  return message and call('HEXISTS', KEY.messages .. id, message) == 1
end

local function put_back(id, s)
  let_go(id, s)
  forget_progress(id, s)
  local word, why = pause_in(s.pause, s.claim)
  local is_withdrawn = s.kind == 'suspended' and word == 'withdrawn'
  local is_answered = is_withdrawn and is_message(id, why)
  if is_withdrawn and not is_answered then s.kind, s.reason = 'release', 'its pause was withdrawn' end
  note(s.kind, id, s.claim .. ' ' .. s.reason)
  if s.kind == 'retry' then
    call('HINCRBY', KEY.task .. id, 'attempts', 1)
    write(id, 'reason', s.reason)
    to_later(id, NOW + s.delay)
  elseif s.kind == 'release' then
    call('HINCRBY', KEY.task .. id, 'releases', 1)
    to_head(id)
  elseif s.kind == 'returned' then
    count_unbegun(id)
    to_head(id)
  elseif s.kind == 'sleep' then
    to_later(id, s.delay)   -- `delay` is the moment at which the sleep ends
  elseif s.kind == 'defer' then
    count_unbegun(id)
    to_later(id, NOW + s.delay)
  else
    park(id, 'suspended', s.reason)
    if is_answered then joins().go_on(id, read(id, 'lane')[1]) end
  end
  if s.kind ~= 'suspended' then carry_out_pause(id, s.claim) end
end

-- Settles a damaged task. Its worker runs it no more, so other tasks get its permits at once. It stays in `running`, and goes back to its
-- lane after its repair.
local function settle_damaged(id, s, flaw)
  local r = read(id, 'claim', 'lane', 'concurrency_key', 'permits')
  if r[1] == s.claim then
    attempt(bounds().give_back, id, r[2], r[3])
    attempt(write, id, 'permits', '')
  end
  set_task_aside(id, flaw)
end

local function settle_one(id, s)
  local r = read(id, 'state', 'claim', 'last_claim', 'owner', 'turn', 'lane', 'permits', 'schedule', 'generation',
    'webhook', 'progress', 'pause', 'recoveries', 'name')
  local state, committed = r[1], COMMITS[s.kind]
  local flaw = state and flaw_in(facts(id))
  if flaw then settle_damaged(id, s, flaw) end
  if flaw or not state then return 'GONE' end
  if r[3] == s.claim then
    end_again(id)
    local incarnation = string.match(s.claim, '^%d+:(.*):%d+$')
    if incarnation and state ~= 'working' then leave_index(id, 'working', r[6], incarnation) end
    return 'ALREADY'
  end
  -- A task that is not working has an owner that was declared dead, and was not claimed since. A result still counts, a return does not.
  if r[2] ~= s.claim or not (state == 'working' or (committed and (state == 'submitted' or state == 'delayed'))) then return 'LOST' end
  if state ~= 'working' then leave_index(id, state, r[6], r[4]) end
  if r[7] then bounds().vacate(id) end
  if s.checkpoint ~= '' then call('SET', KEY.checkpoint .. id, s.checkpoint) end
  s.known = {r[8], r[9], r[5], r[10], s.delay ~= 0 and tonumber(s.delay) or nil}   -- the fields that `finish` takes as `known`
  s.has_progress = r[11] or s.progress ~= ''
  if s.progress ~= '' then write(id, 'progress', s.progress) end
  s.pause = r[12]
  -- A run that ended by itself has ended neither its worker nor the host: the recoveries in a row begin anew.
  if r[13] and not UNENDED[s.kind] then write(id, 'recoveries', 0) end
  if s.error ~= '' then attempt(error_kinds().note, id, r[14], s.error, committed, s.kind == 'exhausted') end
  if committed then commit(id, s, committed, r[5]) else put_back(id, s) end
  roll(s.kind, r[6], r[14])
  if state == 'working' then leave_index(id, state, r[6], r[4]) end   -- last, so that after an error the index still leads to the task
  return 'OK'
end

-- Settles one claim. `s`: id, claim, kind, delay, reason, result; checkpoint, error, progress ('' for none). Answers OK, ALREADY, LOST or GONE; a damaged
-- task answers GONE, too.
local function settle(s) return each_task(s.id, nil, nil, settle_one, s) or 'GONE' end
