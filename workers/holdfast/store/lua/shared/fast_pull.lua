-- use: fast_record fast_foreign claims_ahead clock journal lane lane_turns serving_workers constants rollup
-- A guard before `pull`: it answers a usual pull itself, with few commands. Otherwise `pull`, which can answer any call, does the whole
-- call; its functions are defined only then. This part reads and decides everything before it writes, and gives up at the first unusual
-- thing.
-- Both ways write and answer the same, with one exception: only this part claims tasks ahead, beyond the free slots. It may do so because
-- no bound applies here, and the order in which the tasks begin has no other effect.
-- A pull is usual if all of this holds: a live worker of a pool calls, with few lanes, and with the number after its last request. None of
-- the keys in `is_usual_call` has something for it. All settlements are `completed`, of usual tasks with no ties. All entries are of usual
-- tasks, in the order of their numbers; or there is one foreign entry (see fast_foreign).
-- This part has few functions, because each costs every call.
local WORKER, SLOTS, AHEAD = KEY.worker .. ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[6])
local CLAIM = '1:' .. ARGV[1] .. ':' .. ARGV[2]
local MOST = 500   -- the most settlements, and the most claims
local FEW = 16     -- the most lanes, because `pull` would look at all of them again
local PLAIN = 3    -- values of a settlement that completes its task: task id, claim, result

-- Two answers. True if no lane is bounded or paused, nothing is due, and no task waits for this worker outside its lanes. Then the names of
-- its handlers: '*', or the digest under which they are kept.
local function is_usual_call()
  local r = redis.pcall('HMGET', WORKER, 'state', 'request', 'kind', 'quiet', 'names')
  if r[1] ~= 'live' or r[3] ~= 'worker' or r[4] or tonumber(ARGV[2]) ~= (tonumber(r[2]) or 0) + 1 then return false end
  local marks = call('EXISTS', KEY.leftover, KEY.joining, KEY.rules, KEY.gated, KEY.closed, KEY.turned,
    WORKER .. NAME.of_inbox, KEY.due, KEY.agenda, KEY.unserved)
  if marks == 0 then return true, r[5] end
  if marks > call('EXISTS', KEY.due, KEY.agenda, KEY.unserved) then return false end
  local of_mine = 0
  for i = 7, #ARGV do
    local unknown = KEY.unknown .. ARGV[i]
    of_mine = of_mine + ((r[5] or '*') == '*' and #redis.pcall('ZRANGE', unknown, 0, 0) or #redis.pcall('ZINTER', 2, unknown, KEY.names .. r[5]))
  end
  return call('ZCOUNT', KEY.due, '-inf', NOW) + call('ZCOUNT', KEY.agenda, '-inf', NOW) + of_mine == 0, r[5]
end

-- The settlements; nil if one of them is unusual. A task for which a message waits has a trail, and is unusual.
local function read_settlements()
  local settlements, rest, met = cmsgpack.unpack(ARGV[4]), {}, {}
  if #settlements == 0 then return settlements end
  if #settlements > MOST or call('HEXISTS', KEY.meta, 'webhook') == 1 then return nil end
  local may_have_children = call('EXISTS', KEY.waiting, KEY.parked) > 0   -- only waiting or paused tasks can be children
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

-- True if an entry has the length that follows from the task's operation (see lane). Another length means damage, and is unusual.
local MARK = #'{"_b":":",' - #'{'
local function holds_operation(raw, id, seq) return redis.pcall('STRLEN', KEY.op .. id) == #raw - #id - #seq - MARK end

-- Four answers. For each lane with entries: its name, its place, and how many tasks to take (`share`). How many entries each lane has; how
-- many all have. If lanes take turns: the turns to note. nil if too many tasks are wanted.
local function share_out()
  local busy, offers, waiting = {}, {}, 0
  for i = 7, #ARGV do
    local offer = redis.pcall('LLEN', list_of(ARGV[i]))
    offers[i - 6] = offer
    if offer ~= 0 then
      if type(offer) ~= 'number' then return nil end   -- the key holds no list; `pull` serves the other lanes
      waiting, busy[#busy + 1] = waiting + offer, {name = ARGV[i], at = i - 6}
    end
  end
  if waiting == 0 or SLOTS + AHEAD == 0 then return {}, offers, waiting end
  local live = math.max(1, call('ZCARD', KEY.workers) - call('SCARD', KEY.quarantine))
  local want = math.min(SLOTS + AHEAD, math.max(1, math.ceil(waiting / live)))
  if want > MOST then return nil end
  if #busy == 1 then
    busy[1].share = want
    return busy, offers, waiting
  end
  local lanes, weights = served_lanes()
  local shares, had
  if #weights > 0 then shares, had = turns(lanes, weights, offers, want) end
  for _, lane in ipairs(busy) do
    lane.share = shares and shares[lane.at] or math.min(want, offers[lane.at])
    want = want - lane.share
  end
  return busy, offers, waiting, had and {lanes = lanes, had = had}
end

-- Three answers for the next tasks: their short rows (see store/redis/worker.py); what each record notes of its claim (see trail); the keys
-- of the records. Of each lane it notes how many are `taken`, and the `highest` of their numbers. nil if a task is unusual, or too much has
-- to be read. If this happens only to tasks claimed ahead, in a single lane, the claims end before it. The entry of a usual task holds its
-- operation, which is not read again.
local function read_tasks(busy, names)
  local rows, notes, keys, bytes, n = {}, {}, {}, 0, 0
  local note_of = {}   -- kept by the number of fields, because making a text of a number costs as much as a write
  for _, place in ipairs(busy) do
    local list, before, highest = list_of(place.name), n, 0
    for i = 1, place.share do
      local raw = call('LINDEX', list, i - 1)
      local id, seq = own(raw)
      local number, lane, name, most, timeout, fields, created, key = tonumber(seq)
      if id and number > highest then lane, name, most, timeout, fields, created, key = read_new(id, seq) end
      local is_usual = lane == place.name and has_name(names, name or '') and holds_operation(raw, id, seq)
      bytes = bytes + #raw
      if not is_usual or bytes >= WINDOW_BYTES then
        if #busy == 1 and i > SLOTS then break end
        return nil
      end
      n, highest = n + 1, number
      note_of[fields] = note_of[fields] or fields .. ' ' .. NOW .. ' ' .. CLAIM
      notes[n], keys[n] = note_of[fields], key
      rows[n] = {id, CLAIM, lane, most or '', timeout or '', raw, math.max(0, NOW - created)}
    end
    place.taken, place.highest = n - before, highest
  end
  return rows, notes, keys
end

-- Counts settlements with few commands: mostly all are of one lane and one handler.
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

-- Writes the settlements: records first, `running` last. After an error in between, the id is still in `running`, and the next call that
-- finds it there completes the end (see end_again).
local function write_settlements(settlements)
  local ids, details, finished, at = {}, {}, {}, tostring(NOW)   -- made once, because making a text of a number costs as much as a write
  local detail_of = {}   -- kept by the claim, because many have the same
  for i, s in ipairs(settlements) do
    local id, claim = s[1], s[2]
    detail_of[claim] = detail_of[claim] or 'completed 1 ' .. claim .. ' '
    ids[i], details[i] = id, detail_of[claim]
    finished[2 * i - 1], finished[2 * i] = at, id
    call('SET', KEY.result .. id .. ':1', s[3])
    call('HSET', s.key, 'state', 'completed', 'owner', '', 'claim', '', 'finished', at, 'last_claim', claim)
    redis.pcall('PUBLISH', KEY.done .. id, 'completed')
  end
  roll_alike(settlements)
  call('HINCRBY', KEY.tally, 'completed', #ids)
  if type(redis.pcall('ZADD', KEY.finished, unpack(finished))) ~= 'number' then   -- on an error, the tasks are neither counted nor in the index
    call('HINCRBY', KEY.tally, 'completed', -#ids)
    call('ZADD', KEY.finished, unpack(finished))
  end
  tell_each('settled', ids, details)
  call('HDEL', WORKER .. NAME.of_running, unpack(ids))
end

-- Writes the claims: `running` first. The entries are popped last. After an error in between, the next renewal repairs the tasks, and
-- duplicate entries are only hints.
local function write_claims(rows, notes, keys, busy)
  local ids, claims, running = {}, {}, {}
  for i, row in ipairs(rows) do
    ids[i], claims[i], running[2 * i - 1], running[2 * i] = row[1], CLAIM, row[1], CLAIM
  end
  call('HSET', WORKER .. NAME.of_running, unpack(running))
  for i, key in ipairs(keys) do
    call('HSET', key, 'state', 'working', 'owner', ARGV[1], 'claim', CLAIM, 'delivery', '1', 'claimed', notes[i])
  end
  tell_each('claimed', ids, claims)
  local before = 0
  for _, lane in ipairs(busy) do
    if lane.taken > 0 then
      local index = KEY.submitted .. lane.name
      -- If the key holds another type, the claim goes on, and the audit removes the key.
      if redis.pcall('ZREM', index, unpack(ids, before + 1, before + lane.taken)) ~= lane.taken and call('TYPE', index).ok == 'zset' then
        call('ZREM', index, unpack(ids, before + 1, before + lane.taken))
      end
      call('LPOP', list_of(lane.name), lane.taken)
      call('HSET', KEY.heads, lane.name, math.max(lane.highest, tonumber(call('HGET', KEY.heads, lane.name) or '0') or 0))
      before = before + lane.taken
    end
  end
end

-- The single entry that is wanted, if it is a usual foreign one, with its task id, message id and name.
local function read_alone(busy, names)
  if #busy ~= 1 or busy[1].share ~= 1 then return nil end
  local raw = call('LINDEX', list_of(busy[1].name), 0)
  return raw, read_foreign(raw, names)
end

-- Rings the bells of lanes that still hold entries, so that other workers take them.
local function ring_on(offers, busy)
  for _, lane in ipairs(busy) do offers[lane.at] = offers[lane.at] - lane.taken end
  for i, left in ipairs(offers) do
    if left > 0 then ring(ARGV[i + 6]) end
  end
end

local function pull_usual()
  local is_usual, names = is_usual_call()
  local settlements = is_usual and read_settlements()
  if not settlements then return nil end
  local busy, offers, waiting, turned = share_out()
  if not busy then return nil end
  local rows, notes, keys = read_tasks(busy, names)
  local raw, foreign, message, name
  if not rows then
    raw, foreign, message, name = read_alone(busy, names)
    if not foreign then return nil end
  end
  if #settlements > 0 then write_settlements(settlements) end
  call('HSET', WORKER, 'request', ARGV[2])
  if turned then note_turns(turned.lanes, turned.had) end
  if foreign then
    rows, busy[1].taken = {write_foreign(raw, busy[1].name, foreign, message, name, ARGV[1], CLAIM)}, 1
  elseif #rows > 0 then write_claims(rows, notes, keys, busy) end
  if #rows > SLOTS then note_ahead(ARGV[1], #busy == 1 and busy[1].name or '') end
  if waiting == 0 and SLOTS > 0 then
    for i = 7, #ARGV do ask_back(ARGV[i], ARGV[1]) end
  end
  if waiting > #rows then ring_on(offers, busy) end
  local verdicts = {}
  for i in ipairs(settlements) do verdicts[i] = 'OK' end
  return {'OK', verdicts, rows, waiting - #rows, 0}
end

local PULLED = #ARGV <= FEW + 6 and pull_usual()
if PULLED then return PULLED end
