-- Accept operations with submit options: after other tasks, with an expiry, in place of an earlier task, or once a unique key.
-- KEYS: the public queue.
-- ARGV: per submission what submit.lua takes, then its options as MessagePack ('' for none): a list of the tasks it waits for,
--       fail or run (if one of them does not complete), expires (Unix ms), expires in (ms), debounce key, unique key, unique
--       for (ms, '' until it has ended), webhook, batch (see the shared part `batches`); '' where not given.
-- Answers: per submission {word, task id}: new, turn, pending, duplicate, conflict, terminal or no-list as from submit.lua; duplicate
--       with the id of the task that holds the unique key; no-parent with the id that is not known, other-batch, batch-closed or
--       taken where it cannot be a task of its batch, and nothing was written.
-- Keeps: I3, I4, I6, I14, I15: a task that waits is known to all that it waits for. I19: a batch counts each of its tasks once.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: messages submit_options unique_keys expiry clock lane task_record batches
local WIDTH = 12
local keys, times = unique(), expiry()

local function make(id, submission, options)
  local parents, policy, expires, expires_in, debounce, only, only_for, webhook, batch = unpack(options)
  local message, digest, operation, lane, due, delay, name, attempts, timeout, key = unpack(submission)
  record(id, message, digest, operation, lane, name, attempts, timeout, key)
  if webhook ~= '' then write(id, 'webhook', webhook) end
  local others = batch ~= '' and batching().join(id, batch) and 1 or 0
  if canceled_early(id) then return end
  if expires_in ~= '' then expires = NOW + expires_in end
  if expires ~= '' then times.set(id, expires) end
  if only ~= '' then keys.hold(id, only, only_for) end
  local before = debounce ~= '' and hold_debounce(id, debounce)
  start_after(id, parents, policy, beginning(due, delay), others)
  if before then replace(before, id) end
end

local function accept(id, message, digest, operation, lane, due, delay, name, attempts, timeout, key, packed)
  local options = packed ~= '' and cmsgpack.unpack(packed) or {{}, '', '', '', '', '', '', '', ''}
  local refused = options[9] ~= '' and batching().refusal(id, options[9])
  if refused then return {refused, id} end
  if call('EXISTS', KEY.task .. id) == 1 then return {deliver_message(id, operation, message, digest), id} end
  if not is_list(lane) then return {'no-list', id} end
  local first = options[6] ~= '' and keys.holder(options[6])
  if first then return {'duplicate', first} end
  local unknown = unknown_of(options[1])
  if unknown then return {'no-parent', unknown} end
  make(id, {message, digest, operation, lane, due, delay, name, attempts, timeout, key}, options)
  return {'new', id}
end

local answers = {}
for i = 1, #ARGV, WIDTH do
  answers[#answers + 1] = accept(unpack(ARGV, i, i + WIDTH - 1))
end
return answers
