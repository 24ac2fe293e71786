-- use: usual_record usual_foreign claims_ahead clock journal lane serving_workers limits rollup
-- A guard: a pull in which nothing is unusual is answered here, with few commands; the operation behind it answers any pull, and
-- its functions are made only then. All is read and decided before anything is written: at the first thing that is not as usual, the
-- operation does the whole call. Both write and answer the same, but that tasks are claimed ahead here alone, beyond the slots: here
-- nothing bounds them, and nothing else follows from the order in which they begin.
-- Usual: a live worker of a pool, of one lane; none of these keys; settlements of usual tasks as completed, to which nothing is
-- tied; entries of usual tasks, in their order; or one foreign entry (see usual_foreign).
-- Each function costs every call, so there are few.
local WORKER, SLOTS, AHEAD, LANE = KEY.worker .. ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[6]), ARGV[7]
local CLAIM = '1:' .. ARGV[1] .. ':' .. ARGV[2]
local MOST = 500   -- settlements, and claims
local PLAIN = 3    -- values of a settlement that says nothing but: completed, with this result

-- Answers true if no lane is bounded or paused, nothing is due, and no task waits for this worker anywhere but in its lane; and
-- the names of its handlers: '*', or the digest that they are kept under.
local function is_usual_call()
  local r = call('HMGET', WORKER, 'state', 'request', 'kind', 'quiet', 'names')
  if r[1] ~= 'live' or r[3] ~= 'worker' or r[4] or tonumber(ARGV[2]) <= tonumber(r[2]) then return false end
  local marks = call('EXISTS', KEY.solo, KEY.leftover, KEY.joining, KEY.rules, KEY.gated, KEY.closed, KEY.turned,
    WORKER .. NAME.of_inbox, KEY.due, KEY.agenda, KEY.unserved)
  if marks == 0 then return true, r[5] end
  if marks > call('EXISTS', KEY.due, KEY.agenda, KEY.unserved) then return false end
  local unknown = KEY.unknown .. LANE
  local of_mine = (r[5] or '*') == '*' and call('ZCARD', unknown) or #call('ZINTER', 2, unknown, KEY.names .. r[5])
  return call('ZCOUNT', KEY.due, '-inf', NOW) + call('ZCOUNT', KEY.agenda, '-inf', NOW) + of_mine == 0, r[5]
end

-- The settlements, or nil if one of them is unusual: a message that waits for its task stands in the trail.
local function read_settlements()
  local settlements, rest, met = cmsgpack.unpack(ARGV[4]), {}, {}
  if #settlements == 0 then return settlements end
  if #settlements > MOST or call('HEXISTS', KEY.meta, 'webhook') == 1 then return nil end
  local may_have_children = call('EXISTS', KEY.waiting, KEY.parked) > 0   -- each waits, or was paused
  for i, s in ipairs(settlements) do
    local id = s[1]
    if #s > PLAIN or met[id] then return nil end
    local lane, name, key = read_claimed(id, ARGV[1], s[2])
    if not lane then return nil end
    met[id], s.lane, s.name, s.key = true, lane, name, key
    rest[2 * i - 1], rest[2 * i] = KEY.trail .. id, KEY.checkpoint .. id
    if may_have_children and call('EXISTS', KEY.children .. id) == 1 then return nil end
  end
  return call('EXISTS', unpack(rest)) == 0 and settlements or nil
end

-- True if an entry has the length that the task's operation makes (see lane): one that is damaged is unusual.
local MARK = #'{"_b":":",' - #'{'
local function holds_operation(raw, id, seq) return redis.pcall('STRLEN', KEY.op .. id) == #raw - #id - #seq - MARK end

-- The short rows (see store/redis/decode.py) of the next tasks, the highest of their numbers, and of each what its record notes of the
-- claim (see trail), and the record's key; nil if one is unusual, or too much is to be read. Of those ahead it is the end. An entry of
-- a usual task holds its operation, which is not read again, and the entries stand in the order of their numbers.
local function read_tasks(share, names)
  local rows, notes, keys, highest, bytes, list = {}, {}, {}, 0, 0, list_of(LANE)
  local note_of = {}   -- by the number of fields: to make a text of a number costs as much as a write
  for i = 1, share do
    local raw = call('LINDEX', list, i - 1)
    local id, seq = own(raw)
    local number, lane, name, most, timeout, fields, created, key = tonumber(seq)
    if id and number > highest then lane, name, most, timeout, fields, created, key = read_new(id, seq) end
    local is_usual = lane == LANE and has_name(names, name or '') and holds_operation(raw, id, seq)
    bytes = bytes + #raw
    if not is_usual or bytes >= WINDOW_BYTES then
      if i > SLOTS then break end
      return nil
    end
    note_of[fields] = note_of[fields] or fields .. ' ' .. NOW .. ' ' .. CLAIM
    notes[i], keys[i], highest = note_of[fields], key, number
    rows[i] = {id, CLAIM, LANE, most or '', timeout or '', raw, math.max(0, NOW - created)}
  end
  return rows, highest, notes, keys
end

-- Counts settlements with few commands: mostly all are of one lane and handler.
local function roll_alike(settlements)
  local n = 0
  for i, s in ipairs(settlements) do
    local following = settlements[i + 1]
    n = n + 1
    if not following or following.lane ~= s.lane or following.name ~= s.name then
      roll('completed', s.lane, s.name, n)
      n = 0
    end
  end
end

-- The record comes first: an error behind it leaves an id in `running` that a renewal removes, not a task that is not there.
local function write_settlements(settlements)
  local ids, details, finished, at = {}, {}, {}, tostring(NOW)   -- to make a text of a number costs as much as a write
  local detail_of = {}   -- by the claim: many have the same
  for i, s in ipairs(settlements) do
    local id, claim = s[1], s[2]
    detail_of[claim] = detail_of[claim] or 'completed 1 ' .. claim .. ' '
    ids[i], details[i] = id, detail_of[claim]
    finished[2 * i - 1], finished[2 * i] = at, id
    call('SET', KEY.result .. id .. ':1', s[3])
    call('HSET', s.key, 'state', 'completed', 'owner', '', 'claim', '', 'finished', at, 'last_claim', claim)
    call('PUBLISH', KEY.done .. id, 'completed')
  end
  roll_alike(settlements)
  call('HDEL', WORKER .. NAME.of_running, unpack(ids))
  call('ZADD', KEY.finished, unpack(finished))
  call('HINCRBY', KEY.tally, 'completed', #ids)
  tell_each('settled', ids, details)
end

-- `running` comes first, and the entries are popped last: an error in between leaves what a renewal mends, and duplicate hints.
local function write_claims(rows, highest, notes, keys)
  local ids, claims, running = {}, {}, {}
  for i, row in ipairs(rows) do
    ids[i], claims[i], running[2 * i - 1], running[2 * i] = row[1], CLAIM, row[1], CLAIM
  end
  call('HSET', WORKER .. NAME.of_running, unpack(running))
  for i, key in ipairs(keys) do
    call('HSET', key, 'state', 'working', 'owner', ARGV[1], 'claim', CLAIM, 'delivery', '1', 'claimed', notes[i])
  end
  call('ZREM', KEY.submitted .. LANE, unpack(ids))
  tell_each('claimed', ids, claims)
  call('LPOP', list_of(LANE), #ids)
  call('HSET', KEY.heads, LANE, math.max(highest, tonumber(call('HGET', KEY.heads, LANE) or '0')))
end

local function pull_usual()
  local is_usual, names = is_usual_call()
  local settlements = is_usual and read_settlements()
  if not settlements then return nil end
  local waiting, share = call('LLEN', list_of(LANE)), 0
  if waiting > 0 and SLOTS + AHEAD > 0 then
    local live = math.max(1, call('ZCARD', KEY.workers) - call('SCARD', KEY.quarantine))
    share = math.min(SLOTS + AHEAD, math.max(1, math.ceil(waiting / live)))
  end
  if share > MOST then return nil end
  local rows, highest, notes, keys = read_tasks(share, names)
  local raw = not rows and share == 1 and call('LINDEX', list_of(LANE), 0)
  local foreign, message, name
  if raw then foreign, message, name = read_foreign(raw, names) end
  if not rows and not foreign then return nil end
  if #settlements > 0 then write_settlements(settlements) end
  call('HSET', WORKER, 'request', ARGV[2])
  if foreign then rows = {write_foreign(raw, LANE, foreign, message, name, ARGV[1], CLAIM)}
  elseif #rows > 0 then write_claims(rows, highest, notes, keys) end
  if #rows > SLOTS then note_ahead(ARGV[1], LANE) end
  if waiting == 0 and SLOTS > 0 then ask_back(LANE, ARGV[1]) end
  if waiting > #rows then ring(LANE) end
  local verdicts = {}
  for i in ipairs(settlements) do verdicts[i] = 'OK' end
  return {'OK', verdicts, rows, waiting - #rows, 0}
end

local PULLED = #ARGV == 7 and pull_usual()
if PULLED then return PULLED end
