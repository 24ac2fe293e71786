-- use: task_record journal task_end messages parents gates pause_requests workers joined_messages shared_keys
-- provides: cancel pause resume CONTROL
-- Cancel, pause and resume of a task in any state. Each answers `damaged` if the key of the record holds something else, and fails where
-- the record lacks what it needs: callers take it in a guard.
-- Cancels a task. This is the compare-and-set that decides: afterwards no settlement of this task is recorded.
local function cancel(id, reason)
  local r = read(id, 'state', 'lane', 'owner', 'claim')
  local state = r[1]
  if state == nil then return 'damaged' end
  if not state then
    cancel_early(id)
    return 'unknown'
  end
  if TERMINAL[state] then
    end_again(id, state == 'canceled')   -- an error may have cut off an earlier cancel
    return state
  end
  if PARKED[state] then leave_index(id, state, r[2])
  elseif state == 'working' then
    hint(r[3], 'cancel:' .. id .. ':' .. r[4])
    bounds().vacate(id)
  elseif state == 'submitted' then
    shared('ZSCORE', KEY.submitted .. r[2], id)   -- a record without a lane fails before anything is written
  else
    call('ZSCORE', state == 'delayed' and KEY.due or KEY.waiting, id)   -- likewise
  end
  finish(id, 'canceled', reason, has_rest(id))
  note_end('canceled', id, reason)
  if not PARKED[state] then leave_index(id, state, r[2], r[3]) end   -- last: an error before leaves a hint to what was begun
  return 'canceled'
end

-- Pauses a task. A waiting task is parked at once; a running task is asked to save a checkpoint and settle as suspended. The record
-- keeps the request, in case the worker or the hint is lost.
local function pause(id, reason)
  local r = read(id, 'state', 'lane', 'owner', 'claim')
  local state = r[1]
  if not state then return state == nil and 'damaged' or 'unknown' end
  if state == 'working' then
    keep_pause(id, 'asked', r[4], reason)
    hint(r[3], 'pause:' .. id .. ':' .. r[4])
    note('pause-asked', id, reason)
  elseif state == 'submitted' or state == 'delayed' or state == 'waiting' then
    leave_index(id, state, r[2])
    park(id, 'suspended', reason)
    note('suspended', id, reason)
    return 'suspended'
  elseif state == 'suspended' then
    joins().stop(id)   -- it goes on no more
  end
  end_again(id)
  return state
end

-- Resumes a parked task: the same turn if it was suspended, else the turn in which it asked, again. For a working task it withdraws
-- the requested pause.
local function resume(id, reason)
  local r = read(id, 'state', 'lane', 'claim', 'pause', 'joining')
  local state = r[1]
  if not state then return state == nil and 'damaged' or 'unknown' end
  if state == 'working' then withdraw_pause(id, r[3], r[4], reason) end
  if not PARKED[state] or (state == 'suspended' and r[5] == '1') then return state end   -- it goes on as soon as its messages have joined
  leave_index(id, state, r[2])
  if state ~= 'suspended' then
    local m = read(id, 'message', 'digest', 'turn')
    new_turn(id, m[1], m[2], call('GET', KEY.op .. id))
  end
  note('resumed', id, reason)
  go_on(id)
  return read(id, 'state')[1]
end

local CONTROL = {cancel = cancel, pause = pause, resume = resume}   -- by the word of an order
