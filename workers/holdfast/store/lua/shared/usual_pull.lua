-- use: usual_record clock journal lane task_record serving_workers limits
-- A guard: a pull in which nothing is unusual is answered here, with few commands; the operation behind it answers any pull, and
-- its functions are made only then. All is read and decided before anything is written: at the first thing that is not as usual, the
-- operation does the whole call. Both write and answer the same.
-- Usual: a live worker of a pool, of one lane; none of these keys; settlements of usual tasks as completed, to which nothing is
-- tied; entries of usual tasks, in their order.
local WORKER, LANE, SLOTS = KEY.worker .. ARGV[1], ARGV[6], tonumber(ARGV[3])
local RUNNING_HERE = WORKER .. NAME.of_running
local MOST = 500   -- settlements, and claims

local function is_usual_worker()
  local r = call('HMGET', WORKER, 'state', 'request', 'kind', 'quiet', 'names')
  if r[1] ~= 'live' or r[3] ~= 'worker' or r[4] or tonumber(ARGV[2]) <= tonumber(r[2]) then return false end
  return true, r[5]
end

-- How many tasks' handlers are unknown to others and known here.
local function count_unknown(names)
  if not names or names == '*' then return call('ZCARD', KEY.unknown .. LANE) end
  return #call('ZINTER', 2, KEY.unknown .. LANE, KEY.names .. names)
end

-- True if no lane is bounded or paused, nothing is due, and no task waits for this worker anywhere but in its lane.
local function is_usual_queue(names)
  if call('EXISTS', KEY.solo, KEY.leftover, KEY.joining, KEY.rules, KEY.gated, KEY.closed, KEY.turned, WORKER .. NAME.of_inbox) > 0 then
    return false
  end
  if call('EXISTS', KEY.due, KEY.agenda, KEY.unserved) == 0 then return true end
  return call('ZCOUNT', KEY.due, '-inf', NOW) + call('ZCOUNT', KEY.agenda, '-inf', NOW) + count_unknown(names) == 0
end

-- The settlements, or nil if one of them is unusual.
local function read_settlements()
  local settlements, rest, met = cmsgpack.unpack(ARGV[4]), {}, {}
  if #settlements == 0 then return settlements end
  if #settlements > MOST or call('HEXISTS', KEY.meta, 'webhook') == 1 then return nil end
  for i, s in ipairs(settlements) do
    local id = s[1]
    if s[3] ~= 'completed' or s[4] ~= 0 or s[7] ~= '' or met[id] or not usual_running(id, s[2], ARGV[1]) then return nil end
    met[id] = true
    rest[4 * i - 3], rest[4 * i - 2] = KEY.pending .. id, KEY.checkpoint .. id
    rest[4 * i - 1], rest[4 * i] = KEY.ties .. id, KEY.children .. id
  end
  return call('EXISTS', unpack(rest)) == 0 and settlements or nil
end

-- This worker's share of what waits.
local function share_of(waiting)
  if waiting == 0 or SLOTS == 0 then return 0 end
  local live = math.max(1, call('ZCARD', KEY.workers) - call('SCARD', KEY.quarantine))
  return math.min(SLOTS, math.max(1, math.ceil(waiting / live)))
end

-- The next tasks, each {id, number, operation, record}; nil if one of them is unusual.
local function read_tasks(share, names)
  local tasks, met, bytes, list = {}, {}, 0, list_of(LANE)
  for i = 1, share do
    local raw = call('LINDEX', list, i - 1)
    local id, seq = own(raw)
    local r = id and not met[id] and usual_waiting(id, LANE, seq)
    local operation = r and has_name(names, r[7] or '') and operation_of(id)
    if not operation then return nil end
    bytes, met[id] = bytes + #raw + #operation, true
    if bytes >= WINDOW_BYTES then return nil end
    tasks[i] = {id, seq, operation, r}
  end
  return tasks
end

-- The record comes first: an error behind it leaves an id in `running` that a renewal removes, not a task that is not there.
local function write_settlements(settlements)
  local ids, details, finished, at = {}, {}, {}, tostring(NOW)   -- to make a text of a number costs as much as a write
  for i, s in ipairs(settlements) do
    local id, claim = s[1], s[2]
    ids[i], details[i] = id, 'completed 1 ' .. claim .. ' ' .. s[5]
    finished[2 * i - 1], finished[2 * i] = at, id
    call('SET', KEY.result .. id .. ':1', s[6])
    call('HDEL', KEY.task .. id, 'owner', 'claim')
    write(id, 'state', 'completed', 'finished', at, 'reason', s[5], 'last_claim', claim)
    add_to_trail('settled', id, details[i])
    tell_waiters(id, 'completed')
  end
  call('HDEL', RUNNING_HERE, unpack(ids))
  call('ZADD', KEY.finished, unpack(finished))
  tally('completed', #ids)
  tell_each('settled', ids, details)
end

-- `running` comes first, and the entries are popped last: an error in between leaves what a renewal mends, and duplicate hints.
local function write_claims(tasks)
  local ids, claims, running, rows, highest = {}, {}, {}, {}, tonumber(call('HGET', KEY.heads, LANE) or '0')
  local claim = '1:' .. ARGV[1] .. ':' .. tonumber(ARGV[2])
  for i, task in ipairs(tasks) do
    ids[i], claims[i], running[2 * i - 1], running[2 * i] = task[1], claim, task[1], claim
    highest = math.max(highest, tonumber(task[2]))
  end
  call('HSET', RUNNING_HERE, unpack(running))
  for i, task in ipairs(tasks) do
    local id, r = task[1], task[4]
    write(id, 'state', 'working', 'owner', ARGV[1], 'claim', claim, 'delivery', '1')
    add_to_trail('claimed', id, claim)
    rows[i] = {id, claim, LANE, '1', '1', '0', '0', r[8] or '', r[9] or '', '', task[3], '', {}, 0}
  end
  call('ZREM', KEY.submitted .. LANE, unpack(ids))
  tell_each('claimed', ids, claims)
  call('LPOP', list_of(LANE), #ids)
  call('HSET', KEY.heads, LANE, highest)
  return rows
end

local function pull_usual()
  local is_usual, names = is_usual_worker()
  local settlements = is_usual and is_usual_queue(names) and read_settlements()
  if not settlements then return nil end
  local waiting = call('LLEN', list_of(LANE))
  local share = share_of(waiting)
  local tasks = share <= MOST and read_tasks(share, names)
  if not tasks then return nil end
  if #settlements > 0 then write_settlements(settlements) end
  call('HSET', WORKER, 'request', tonumber(ARGV[2]))
  local rows, verdicts = share > 0 and write_claims(tasks) or {}, {}
  if waiting > share then ring(LANE) end
  for i in ipairs(settlements) do verdicts[i] = 'OK' end
  return {'OK', verdicts, rows, waiting - share, 0}
end

local PULLED = #ARGV == 6 and pull_usual()
if PULLED then return PULLED end
