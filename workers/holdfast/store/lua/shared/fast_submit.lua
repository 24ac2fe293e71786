-- use: clock journal lane
-- A guard before `submit`: it accepts new tasks of one lane itself, with few commands, if nothing is unusual. Otherwise `submit`, which can
-- accept any submission, does the whole call; its functions are defined only then. This part reads and decides everything before it writes,
-- and gives up at the first unusual thing. Both ways write and answer the same.
-- Usual are: unknown tasks that begin now and have no concurrency key. No cancel waits for any task, and no lane is turned or closed.
-- Records are written last. An error before that leaves numbers and entries without a task, and a repeated submission is answered with
-- `new`.
-- This part has few functions, because each costs every call.
local WIDTH, MOST = 11, 1000   -- values of one submission; the most submissions
local NEW_LANE = ARGV[5]

local function is_usual_call()
  if #ARGV == 0 or #ARGV > MOST * WIDTH or call('EXISTS', KEY.cancels, KEY.turned, KEY.closed) > 0 then return false end
  local keys, met = {}, {}
  for i = 1, #ARGV, WIDTH do
    local id = ARGV[i]
    if met[id] or ARGV[i + 4] ~= NEW_LANE or ARGV[i + 5] ~= '' or ARGV[i + 6] ~= '' or ARGV[i + 10] ~= '' then return false end
    met[id], keys[#keys + 1] = true, KEY.task .. id
  end
  return call('EXISTS', unpack(keys)) == 0 and is_list(NEW_LANE)
end

-- The fields for the given ones of name, most attempts and timeout.
local function options_of(name, attempts, timeout)
  local fields = {}
  if name ~= '' then fields = {'name', name} end
  if attempts ~= '' then fields[#fields + 1], fields[#fields + 2] = 'max_attempts', attempts end
  if timeout ~= '' then fields[#fields + 1], fields[#fields + 2] = 'timeout', timeout end
  return unpack(fields)
end

local function accept_usual()
  local ids, origins, answers, index, entries = {}, {}, {}, {}, {}
  local number, at = #ARGV / WIDTH, tostring(NOW)   -- made once, because making a text of a number costs as much as a write
  local last = redis.pcall('HINCRBY', KEY.seq, NEW_LANE, number)
  if type(last) ~= 'number' or last <= 0 or last >= HIGHEST then return nil end   -- `submit` repairs the numbers
  local before = last - number
  for n = 1, number do
    local first = (n - 1) * WIDTH
    local id, seq = ARGV[first + 1], tostring(before + n)
    ids[n], origins[n], answers[n], entries[n] = id, 'own', 'new', entry(id, seq, ARGV[first + 4])
    index[2 * n - 1], index[2 * n] = seq, id
  end
  ring(NEW_LANE)
  call('HINCRBY', KEY.counters, 'accepted', number)
  tell_each('accepted', ids, origins)
  call('ZADD', KEY.submitted .. NEW_LANE, unpack(index))
  call('RPUSH', list_of(NEW_LANE), unpack(entries))
  for n = 1, number do
    local id, message, digest, operation, _, _, _, name, attempts, timeout = unpack(ARGV, (n - 1) * WIDTH + 1, n * WIDTH)
    call('SET', KEY.op .. id, operation)
    call('HSET', KEY.task .. id, 'state', 'submitted', 'lane', NEW_LANE, 'turn', '1', 'message', message, 'digest', digest, 'seq', index[2 * n - 1],
      'origin', 'own', 'created', at, options_of(name, attempts, timeout))
  end
  return answers
end

local answered = is_usual_call() and accept_usual()
if answered then return answered end
