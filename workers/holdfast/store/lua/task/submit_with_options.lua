-- Accept operations with submit options: after other tasks, with an expiry, in place of an earlier task, in a batch, or once for a unique
-- key.
-- KEYS: the public queue.
-- ARGV: for each submission: the arguments of submit.lua, then its options as MessagePack ('' for none). The options are a list: the tasks
--       that it waits for; `fail` or `run` (if one of these does not complete); expires (Unix ms); expires in (ms); debounce key; unique
--       key; unique for (ms, '': until the task has ended); webhook; batch (see the shared part `batches`); promised (1: the producer was
--       told before that the task is accepted). A missing value is ''.
-- Answers: for each submission {word, task id}. new, turn, pending, duplicate, conflict, terminal and no-list are those of submit.lua.
--       duplicate with another id: this task holds the unique key. no-parent with the id that is not known. other-batch, batch-closed,
--       taken: it cannot be a task of its batch. damaged with what is damaged beside it: nothing was written.
--       rejected: a promised task that cannot be made leaves a record that has ended as rejected. A promised task answered with damaged
--       leaves none, because it may be made after the repair. A promised message that its task refuses is set aside.
-- Keeps: I3, I4, I6, I14, I15: each parent of a waiting task knows this task. I19: a batch counts each of its tasks once.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages submit_options unique_keys expiry clock lane task_record batches parent_results task_end ties damage
local WIDTH = 12
local keys, times, ties_of = unique(), expiry(), ties()

-- The reason for which a promised task cannot be made, from the word of its refusal.
local function reason_of(word, other, lane, batch)
  if word == 'duplicate' then return 'its unique key is held by task ' .. other end
  if word == 'no-parent' then return 'task ' .. other .. ', after which it is to run, is not known' end
  if word == 'no-list' then return 'the key of lane ' .. lane .. ' holds something else than a list' end
  local name = batching().batch_of(batch)
  if word == 'other-batch' then return 'batch ' .. name .. ' was submitted before with other tasks' end
  return 'batch ' .. name .. ' was sealed or canceled by an operator before this task came'
end

-- Ends a new task that was promised and cannot be made. Like any task it keeps the results of its parents for its retry.
local function reject(id, word, other, reason, parents, policy)
  write(id, 'refused', word)
  if word == 'duplicate' then write(id, 'duplicate_of', other) end
  if #parents > 0 then
    write(id, 'if_parent_fails', policy)
    parent_results().expect(id, parents)
  end
  local failure = cjson.encode({type = 'TaskRefused', message = reason, traceback = ''})
  call('SET', KEY.result .. id .. ':1', '{"state":"rejected","parts":[],"error":' .. failure .. '}')
  finish(id, 'rejected', reason, has_rest(id))
  note_end('refused', id, reason)
end

-- Makes a task. A refused task ends at once. A batch that was submitted with other tasks does not count a task refused for that.
local function make(id, submission, options, word, other)
  local parents, policy, expires, expires_in, debounce, only, only_for, webhook, batch = unpack(options)
  local message, digest, operation, lane, due, delay, name, attempts, timeout, key = unpack(submission)
  record(id, message, digest, operation, lane, name, attempts, timeout, key)
  if webhook ~= '' then write(id, 'webhook', webhook) end
  local others = batch ~= '' and word ~= 'other-batch' and batching().join(id, batch) and 1 or 0
  if canceled_early(id) then return end
  if word then return reject(id, word, other, reason_of(word, other, lane, batch), parents, policy) end
  if expires_in ~= '' then expires = NOW + expires_in end
  if expires ~= '' then times.set(id, expires) end
  if only ~= '' then keys.hold(id, only, only_for) end
  local before = debounce ~= '' and hold_debounce(id, debounce)
  start_after(id, parents, policy, beginning(due, delay), others)
  if before then replace(before, id) end
end

-- What is damaged among the keys that this task is tied to; nil if nothing is.
local damaged = {}   -- tasks that this call has not made because of damage; later tasks of this call may depend on them
local function flaw_beside(id, options)
  local function is_a(count, key, what) return type(redis.pcall(count, key)) ~= 'number' and 'key ' .. key .. ' is no ' .. what end
  for _, parent in ipairs(options[1]) do
    local flaw = damaged[parent] or is_a('ZCARD', ties_of.children_of(parent), 'sorted set') or is_a('HLEN', KEY.task .. parent, 'hash')
    if flaw then return flaw end
    local state = read(parent, 'state')[1]
    if not is_state(state) and call('HLEN', KEY.task .. parent) > 0 then return 'task ' .. parent .. ' has no state that a task can have' end
  end
  return is_a('SCARD', KEY.ties .. id, 'set') or is_a('HLEN', KEY.parents .. id, 'hash') or nil
end

-- Raises the server's error if a key of the queue that these options need holds another type. This comes before the record is written.
local function require_indexes(options)
  local parents, _, expires, expires_in, debounce, _, only_for, _, batch = unpack(options)
  if debounce ~= '' then call('HLEN', KEY.debounce) end
  if expires ~= '' or expires_in ~= '' or only_for ~= '' then
    call('ZCARD', KEY.agenda)
    call('LLEN', KEY.steward_control)
  end
  for _, key in ipairs(batch ~= '' and {KEY.batches, KEY.batch_looks, KEY.batches_ended} or {}) do call('ZCARD', key) end
  if #parents > 0 or batch ~= '' then call('ZCARD', KEY.waiting) end
end

-- The word of a refusal, and the id of another task if that is the cause; nil if the task can be made. A task that this one replaces does
-- not prevent it: its unique key goes to this one.
local function refusal(id, lane, options)
  if not is_list(lane) then return 'no-list' end
  local first = options[6] ~= '' and keys.holder(options[6])
  if first and first ~= id and not is_replaced(first, options[5]) then return 'duplicate', first end
  local unknown = unknown_of(options[1])
  if unknown then return 'no-parent', unknown end
end

local function accept(id, message, digest, operation, lane, due, delay, name, attempts, timeout, key, packed)
  local options = packed ~= '' and cmsgpack.unpack(packed) or {{}, '', '', '', '', '', '', '', '', ''}
  local promised = options[10] == 1
  local is_known = call('EXISTS', KEY.task .. id) == 1
  local joined, word, other
  if is_known and seen(id, message, digest) == 'duplicate' then
    local is_new, batch = unmake(id)
    is_known, joined = not is_new, batch
  end
  if options[9] ~= '' and options[9] ~= joined then word = batching().refusal(id, options[9]) end
  if word == 'damaged' then
    damaged[id] = 'a key of batch ' .. batching().batch_of(options[9]) .. ' has another type'
    return {word, damaged[id]}
  end
  if is_known then
    word = word or deliver_message(id, operation, message, digest)
    if promised and seen(id, message, digest) ~= 'duplicate' then refuse(word, id, message, operation, lane) end
    return {word, id}
  end
  if word == 'duplicate' then return {word, id} end
  damaged[id] = flaw_beside(id, options)
  if damaged[id] then return {'damaged', damaged[id]} end
  if not word then word, other = refusal(id, lane, options) end
  if word and not promised then return {word, other or id} end
  require_places(lane, beginning(due, delay) > NOW)
  require_indexes(options)
  make(id, {message, digest, operation, lane, due, delay, name, attempts, timeout, key}, options, word, other)
  return {word and 'rejected' or 'new', id}
end

local answers = {}
for i = 1, #ARGV, WIDTH do
  answers[#answers + 1] = accept(unpack(ARGV, i, i + WIDTH - 1))
end
return answers
