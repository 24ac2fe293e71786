-- use: task_record journal task_end messages parents gates pause_requests workers joined_messages shared_keys
-- provides: cancel pause resume CONTROL
-- Cancel, pause and resume of a task in any state. Each answers `damaged` if the key of the record holds another type, and raises an error
-- if the record lacks a needed field. So callers call them through `each_task`.
-- Cancels a task. Whoever comes first decides: after a cancel no settlement of this task is recorded.
local function cancel(id, reason)
  local r = read(id, 'state', 'lane', 'owner', 'claim')
  local state = r[1]
  if state == nil then return 'damaged' end
  if not state then
    cancel_early(id)
    return 'unknown'
  end
  if TERMINAL[state] then
    end_again(id, state == 'canceled')   -- completes an earlier cancel that an error has ended
    return state
  end
  if PARKED[state] then leave_index(id, state, r[2])
  elseif state == 'working' then
    hint(r[3], 'cancel:' .. id .. ':' .. r[4])
    bounds().vacate(id)
  elseif state == 'submitted' then
    shared('ZSCORE', KEY.submitted .. r[2], id)   -- raises for a record without a lane, before anything is written
  else
    call('ZSCORE', state == 'delayed' and KEY.due or KEY.waiting, id)   -- raises for a damaged index, before anything is written
  end
  finish(id, 'canceled', reason, has_rest(id))
  note_end('canceled', id, reason)
  if not PARKED[state] then leave_index(id, state, r[2], r[3]) end   -- last, so that after an error the index still leads to the task
  return 'canceled'
end

-- Pauses a task. A task that waits is parked at once. A running task is asked to save a checkpoint and settle as suspended. The record
-- keeps this request, in case the worker or the hint is lost.
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

-- Resumes a parked task. A suspended task continues its turn; a task that asked runs the turn again in which it asked. A requested pause of
-- a working task is withdrawn.
local function resume(id, reason)
  local r = read(id, 'state', 'lane', 'claim', 'pause', 'joining')
  local state = r[1]
  if not state then return state == nil and 'damaged' or 'unknown' end
  if state == 'working' then withdraw_pause(id, r[3], r[4], reason) end
  if not PARKED[state] or (state == 'suspended' and r[5] == '1') then return state end   -- the task goes on by itself as soon as its messages have joined
  leave_index(id, state, r[2])
  if state ~= 'suspended' then
    local m = read(id, 'message', 'digest', 'turn')
    new_turn(id, m[1], m[2], call('GET', KEY.op .. id))
  end
  note('resumed', id, reason)
  go_on(id)
  return read(id, 'state')[1]
end

local CONTROL = {cancel = cancel, pause = pause, resume = resume}   -- the functions by the words of orders
