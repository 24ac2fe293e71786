-- Run a task that has ended again, as a new task; or make a delayed task due now.
-- The new id is the first free `<first id>.r<number>`. The old task's record names the new task, so a second retry of the old task makes
-- none.
-- KEYS: the public queue. ARGV: task id, reason, id of the bulk change that retries the task ('' for none).
-- Answers: {word, id}.
--       With the id of the new task: new: this call made it. again: an earlier call made it.
--       With the id of the old task: more: its earlier turns are copied in several calls, ask again. due: the delayed task is due now.
--       again: this bulk change made the task itself, or made it due, before. unknown. long: the new id would be too long. Any other word
--       is the state of the task, which does not allow a retry.
--       Or {damaged, reason}: nothing was written.
-- Keeps: I3, I4, I6, I9: in the ended task only the fact of its retry is written.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages promotion constants journal lane task_record parent_results batches amendments damage kinds_of_errors
local LONGEST_ID = 128
local AGAIN = {failed = true, rejected = true, canceled = true}
local KEPT = {'name', 'concurrency_key', 'max_attempts', 'timeout', 'webhook'}   -- the options of its producer
local id, reason, change = ARGV[1], ARGV[2], ARGV[3]

-- Copies the earlier turns for the new task. One call copies a part, because earlier turns no longer change. Answers true if all are
-- copied.
local function copy_history()
  local from, to = KEY.history .. id, KEY.retrying .. id
  local at, all, copied, bytes = call('LLEN', to), call('LLEN', from), 0, 0
  while at < all and copied < HISTORY_ITEMS and bytes < WINDOW_BYTES do
    local item = call('LINDEX', from, at)
    call('RPUSH', to, item)
    at, copied, bytes = at + 1, copied + 1, bytes + #item
  end
  return at >= all
end

local function copy(new, root, number)
  local r = read(id, 'lane', 'message', 'digest', 'turn')
  create(new, r[1], call('GET', KEY.op .. id), r[2], r[3], 'retry', 0)
  write(new, 'root', root, 'retry', number, 'retry_of', id)
  for _, field in ipairs(KEPT) do
    local value = read(id, field)[1]
    if value then write(new, field, value) end
  end
  local push = redis.pcall('HGET', KEY.pushes, id)   -- without these settings, the agent's client would get plain webhooks at its URL
  if type(push) == 'string' then call('HSET', KEY.pushes, new, push) end
  if r[4] ~= '1' then
    write(new, 'turn', r[4])
    if call('EXISTS', KEY.retrying .. id) == 1 then call('RENAME', KEY.retrying .. id, KEY.history .. new) end
  end
  local steps = redis.pcall('HGETALL', KEY.steps .. id)   -- so that the retry makes none of these calls again
  for i = 1, #steps, 2 do call('HSET', KEY.steps .. new, steps[i], steps[i + 1]) end
  local policy = read(id, 'if_parent_fails')[1]
  if policy then
    write(new, 'if_parent_fails', policy)
    parent_results().give_again(id, new)
  end
  batching().replace(id, new)
  note('retry-of', new, id)
  to_tail(new)
end

-- A bulk change looks at all of its tasks several times. It retries a task once, even if the retry fails at once.
local function remember_change(of)
  if change ~= '' then write(of, 'bulk_change', change) end
end

-- What is damaged: of this task, or of the keys that are copied; nil if nothing is. Raises the server's error if a key of the lane is
-- damaged.
local function flaw_for(new)
  local flaw = flaw_of(id)
  if flaw then return flaw end
  for _, key in ipairs({KEY.steps .. id, KEY.parents .. id, KEY.steps .. new, KEY.parents .. new}) do
    if type(redis.pcall('HLEN', key)) ~= 'number' then return 'key ' .. key .. ' is no hash' end
  end
  local batch = batching().batch_of(read(id, 'batch')[1])
  if batch and batching().is_damaged(batch) then return 'a key of batch ' .. batch .. ' has another type' end
  if type(redis.pcall('SCARD', KEY.ties .. new)) ~= 'number' then return 'key ' .. KEY.ties .. new .. ' is no set' end
  require_places(read(id, 'lane')[1])
end

local function once_more(root, number)
  local function name() return root .. '.r' .. number end
  while call('EXISTS', KEY.task .. name()) == 1 and not unmake(name()) do number = number + 1 end
  local new = name()
  if #new > LONGEST_ID then return {'long', id} end
  local flaw = flaw_for(new)
  if flaw then return {'damaged', flaw} end
  if read(id, 'turn')[1] ~= '1' and not copy_history() then return {'more', id} end
  copy(new, root, number)
  remember_change(new)
  write(id, 'retried_as', new)
  amend(id)
  call('ZREM', KEY.dead, id)
  attempt(error_kinds().retried, id)
  note('retried', id, new .. ' ' .. reason)
  count('retried')
  return {'new', new}
end

local r = read(id, 'state', 'retried_as', 'root', 'retry', 'bulk_change')
if not r[1] and call('EXISTS', KEY.task .. id) == 0 then return {'unknown', id} end
if not r[1] then return {'damaged', flaw_in(facts(id)) or 'it has no field state'} end
if r[2] then return {'again', r[2]} end
if change ~= '' and r[5] == change then return {'again', id} end
if r[1] == 'delayed' then
  local flaw = flaw_of(id)
  if flaw then return {'damaged', flaw} end
  call('ZCARD', KEY.due)
  require_places(read(id, 'lane')[1])
  submit_due(id, reason)
  remember_change(id)
  return {'due', id}
end
if not AGAIN[r[1]] then return {r[1], id} end
return once_more(r[3] or id, (whole(r[4]) or 0) + 1)
