-- Accept operations. Each makes a task, or is one more message for a task that exists.
-- KEYS: the public queue.
-- ARGV: for each submission: task id, message id, digest, operation, lane, due (ms, '' for now), delay (ms, '' for none), name, max
--       attempts, timeout (ms), concurrency key. A missing value is ''.
-- Answers: for each submission: new, turn, pending, duplicate, conflict, terminal, full, or no-list: the key of its lane holds something
--       else than a list, and nothing was written.
-- Keeps: I3, I4, I6: a submission that is answered with new, turn or pending is queued, or waits with its task.
-- Refused when out of memory, before anything is written.
-- flags:
-- before: fast_submit
-- use: clock messages lane
local WIDTH = 11

local function accept(id, message, digest, operation, lane, due, delay, name, attempts, timeout, key)
  if call('EXISTS', KEY.task .. id) == 1 then
    local word = deliver_message(id, operation, message, digest)
    if word ~= 'duplicate' or not unmake(id) then return word end
  end
  if not is_list(lane) then return 'no-list' end
  local at = beginning(due, delay)
  require_places(lane, at > NOW)
  record(id, message, digest, operation, lane, name, attempts, timeout, key)
  if canceled_early(id) then return 'new' end
  begin(id, at, lane, operation)
  return 'new'
end

local answers = {}
for i = 1, #ARGV, WIDTH do
  answers[#answers + 1] = accept(unpack(ARGV, i, i + WIDTH - 1))
end
return answers
