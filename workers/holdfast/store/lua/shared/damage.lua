-- use: task_record journal lane workers schedules queue_keys
-- provides: FACTS facts is_state flaw_in flaw_in_content flaw_of is_held is_for_damaged pass_over attempt set_task_aside note_no_state each_task each_entry
-- Damaged records. If somebody has damaged the record of a task, this task alone is affected: it keeps its state, and an entry for it is
-- set aside with the reason. After the record is repaired, the entry can be read again (see readmit).
-- A call that works on many tasks takes each of them in `attempt` or `each_task`. If the content of a record causes an error, the task is
-- taken out of the index that led to it, and the call goes on with the others. If the server refuses a command (no memory, no right), the
-- call ends.
-- An entry is popped after it was carried out. An error in between leaves a duplicate entry, which is only a hint, and loses nothing.
-- `fast_pull` and `fast_submit` use none of this: they look first, and leave everything unusual to the operation behind them.
local FACTS = {'lane', 'turn', 'delivery', 'attempts', 'crashes', 'max_attempts', 'timeout', 'solo', 'expires', 'concurrency_key', 'name', 'state', 'seq', 'held', 'message', 'digest', 'queued', 'created', 'unbegun', 'if_parent_fails', 'batch', 'webhook', 'recoveries', 'releases', 'unknown_at', needed = {1, 2, 13, 15, 16}, counts = {2, 3, 4, 5, 6, 19, 23, 24}, numbers = {7, 9, 13, 17, 18, 25}}   -- the lists have places of FACTS: fields that must exist; counts and numbers, checked if they exist

-- The fields that a claim needs, read with one command.
local function facts(id) return read(id, unpack(FACTS)) end

-- True if a task may be in this state.
local function is_state(state)
  return TERMINAL[state] or PARKED[state] or state == 'submitted' or state == 'delayed' or state == 'waiting' or state == 'working'
end

-- The reason for which these fields cannot be used; nil if they can.
local function flaw_in(r)
  if r[1] == nil then return 'its key holds no record' end
  for _, i in ipairs(FACTS.needed) do
    if not r[i] then return 'it has no field ' .. FACTS[i] end
  end
  for _, i in ipairs(FACTS.counts) do
    if r[i] and (#r[i] > 12 or not whole(r[i])) then return FACTS[i] .. ' is no count' end   -- a larger number would get an exponent when written as text
  end
  for _, i in ipairs(FACTS.numbers) do
    if r[i] and not whole(r[i]) then return FACTS[i] .. ' is no number' end
  end
  if r[12] and not is_state(r[12]) then return 'state is none of a task' end
end

-- The reason for which the operation, history or checkpoint of a task cannot be used; nil if they can.
local function flaw_in_content(id, turn, delivery)
  if not operation_of(id) then return 'no operation' end
  if turn ~= '1' and type(redis.pcall('LLEN', KEY.history .. id)) ~= 'number' then return 'its history is no list' end
  if delivery and type(redis.pcall('STRLEN', KEY.checkpoint .. id)) ~= 'number' then return 'its checkpoint is no text' end
end

-- The reason for which this task cannot be used; nil if it can be used, or does not exist.
local function flaw_of(id)
  local r = facts(id)
  if r[12] == false then return end
  return flaw_in(r) or flaw_in_content(id, r[2], r[3])
end

-- True if a live worker holds this task, as its owner or its claim says.
local function is_held(id)
  local r = read(id, 'owner', 'claim')
  local incarnation = (r[1] or '') ~= '' and r[1] or string.match(r[2] or '', '^%d+:(.*):%d+$')
  if not incarnation or redis.pcall('HEXISTS', running_of(incarnation), id) ~= 1 then return false end
  return facts_of_worker(incarnation, 'state')[1] ~= 'dead'
end

-- If an entry names a damaged task, sets the entry aside. Answers true if it did.
local function is_for_damaged(id, raw, lane)
  local flaw = flaw_of(id)
  if flaw then set_aside('the record of task ' .. id .. ' cannot be read: ' .. flaw, raw, lane) end
  return flaw ~= nil
end

-- Calls `act` with the further arguments. Answers true and the answer of `act`; or false and the reason if the content of a record has
-- caused an error. Raises any other error again. A server raises a text or a table, the store in memory an object.
local function attempt(act, ...)
  local went, raised = pcall(act, ...)
  if went then return true, raised end
  local text = type(raised) == 'table' and raised.err or tostring(raised)
  if string.find(text, 'WRONGTYPE', 1, true) and #damaged_queue_keys() > 0 then error(raised, 0) end   -- a key of the queue is damaged, not a record: see mend
  for _, cause in ipairs({'WRONGTYPE', 'attempt to ', 'bad argument #', 'not an integer', 'not a valid float', 'not a float', 'overflow',
    'out of range', 'no such key', 'must be strings or integers', 'rong number of arg', 'results to unpack', 'invalid value',
    'invalid order', 'maximum allowed size', 'NaN'}) do
    if string.find(text, cause, 1, true) then return false, (string.gsub(text, '^[^ ]*user_script:%d+: ', '')) end
  end
  error(raised, 0)
end

-- Sets a task aside, once for each reason; its field `aside` keeps the last reason. If somebody has deleted the record, there is nothing to
-- set aside. `lane`: used if the record names none. If no worker runs the task, its schedule no longer waits for its end.
local function set_task_aside(id, flaw, lane)
  local r = read(id, 'state', 'aside', 'seq', 'lane', 'schedule')
  if r[1] == false and call('EXISTS', KEY.task .. id) == 0 then return end
  if r[5] and not is_held(id) then attempt(scheduling().go_on_without, r[5], id) end
  if r[2] == flaw then return end
  redis.pcall('HSET', KEY.task .. id, 'aside', flaw)
  set_aside('the record of task ' .. id .. ' cannot be read: ' .. flaw, entry(id, string.match(r[3] or '', '^%d+$') or '0', operation_of(id) or '{}'), r[4] or lane or QUEUE)
end

-- Sets a task aside if it cannot run. Answers true if it did.
local function pass_over(id, r, lane)
  local flaw = flaw_in(r) or flaw_in_content(id, r[2], r[3])
  if not flaw then return false end
  set_task_aside(id, flaw, lane)
  return true
end

-- Sets a task aside whose state is no valid word. No index has it, so nothing else would find it.
local function note_no_state(id, state, lane)
  if state and not is_state(state) then set_task_aside(id, 'state is none of a task', lane) end
end

-- Calls `act(id, …)` for one of many tasks, and answers its answer. If the task's record causes an error, answers nil: `leave(id)`, if
-- given, takes the task out of the index that led to it, and the task is set aside.
local function each_task(id, lane, leave, act, ...)
  local went, answer = attempt(act, id, ...)
  if went then return answer end
  if leave then leave(id) end
  set_task_aside(id, flaw_of(id) or answer, lane)
end

-- Calls `act(raw, lane)` for one of many entries of a lane, and answers its answer. The caller pops the entry afterwards.
local function each_entry(raw, lane, act)
  local went, answer = attempt(act, raw, lane)
  if went then return answer end
  local id = own(raw)
  if id then set_task_aside(id, flaw_of(id) or answer, lane) else set_aside('it cannot be taken: ' .. answer, raw, lane) end
end
