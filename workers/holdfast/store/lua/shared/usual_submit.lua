-- use: clock journal lane task_record
-- A guard: submissions of new tasks to one lane, with nothing unusual, are accepted here, with few commands; the operation behind
-- it accepts any, and its functions are made only then. All is read and decided before anything is written: at the first
-- thing that is not as usual, the operation does the whole call. Both write and answer the same.
-- Usual: tasks that are not known, to begin now, without a concurrency key; no cancel waits for its task, no lane is turned or closed.
local WIDTH, MOST = 11, 1000   -- values of a submission, and submissions
local NEW_LANE = ARGV[5]

local function is_usual_call()
  return #ARGV > 0 and #ARGV <= MOST * WIDTH and call('EXISTS', KEY.cancels, KEY.turned, KEY.closed) == 0 and is_list(NEW_LANE)
end

-- True if a task of an id that is not known, and comes once, is to begin now in this lane.
local function are_usual()
  local keys, met = {}, {}
  for i = 1, #ARGV, WIDTH do
    local id = ARGV[i]
    if met[id] or ARGV[i + 4] ~= NEW_LANE or ARGV[i + 5] ~= '' or ARGV[i + 6] ~= '' or ARGV[i + 10] ~= '' then return false end
    met[id], keys[#keys + 1] = true, KEY.task .. id
  end
  return call('EXISTS', unpack(keys)) == 0
end

local function write_record(id, message, digest, seq, at, name, attempts, timeout)
  local more = {}
  if name ~= '' then more = {'name', name} end
  if attempts ~= '' then more[#more + 1], more[#more + 2] = 'max_attempts', attempts end
  if timeout ~= '' then more[#more + 1], more[#more + 2] = 'timeout', timeout end
  write(id, 'state', 'submitted', 'lane', NEW_LANE, 'turn', '1', 'message', message, 'digest', digest, 'seq', seq, 'origin', 'own',
    'created', at, unpack(more))
end

local function accept_usual()
  local ids, origins, answers, index, entries, at = {}, {}, {}, {}, {}, tostring(NOW)
  local last = call('HINCRBY', KEY.seq, NEW_LANE, #ARGV / WIDTH) - #ARGV / WIDTH
  for i = 1, #ARGV, WIDTH do
    local n, id, operation = #ids + 1, ARGV[i], ARGV[i + 3]
    local seq = tostring(last + n)
    call('SET', KEY.op .. id, operation)
    write_record(id, ARGV[i + 1], ARGV[i + 2], seq, at, ARGV[i + 7], ARGV[i + 8], ARGV[i + 9])
    ids[n], origins[n], answers[n], entries[n] = id, 'own', 'new', entry(id, seq, operation)
    index[2 * n - 1], index[2 * n] = seq, id
  end
  count('accepted', #ids)
  tell_each('accepted', ids, origins)
  call('ZADD', KEY.submitted .. NEW_LANE, unpack(index))
  on_lane('RPUSH', NEW_LANE, unpack(entries))
  ring(NEW_LANE)
  return answers
end

if is_usual_call() and are_usual() then return accept_usual() end
