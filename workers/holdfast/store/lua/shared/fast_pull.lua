-- use: fast_record fast_foreign claims_ahead clock journal lane lane_turns serving_workers limits rollup
-- A guard: a pull in which nothing is unusual is answered here, with few commands; the operation behind it answers any pull, and
-- its functions are made only then. All is read and decided before anything is written: at the first thing that is not as usual, the
-- operation does the whole call. Both write and answer the same, but that tasks are claimed ahead here alone, beyond the slots: here
-- nothing bounds them, and nothing else follows from the order in which they begin.
-- Usual: a live worker of a pool, of a few lanes, and the request behind its last one; none of these keys; settlements of usual tasks as completed, to which nothing is
-- tied; entries of usual tasks, in their order; or one foreign entry (see fast_foreign).
-- Each function costs every call, so there are few.
local WORKER, SLOTS, AHEAD = KEY.worker .. ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[6])
local CLAIM = '1:' .. ARGV[1] .. ':' .. ARGV[2]
local MOST = 500   -- settlements, and claims
local FEW = 16     -- lanes: the operation looks at all of them again
local PLAIN = 3    -- values of a settlement that says nothing but: completed, with this result

-- Answers true if no lane is bounded or paused, nothing is due, and no task waits for this worker anywhere but in its lanes; and
-- the names of its handlers: '*', or the digest that they are kept under.
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

-- Of each lane that holds anything its name, its place, and how many tasks to take from it (`share`); how many wait in each lane, and
-- in all; and, if lanes take turns, what to note of these. nil if too many tasks are wanted.
local function share_out()
  local busy, offers, waiting = {}, {}, 0
  for i = 7, #ARGV do
    local offer = redis.pcall('LLEN', list_of(ARGV[i]))
    offers[i - 6] = offer
    if offer ~= 0 then
      if type(offer) ~= 'number' then return nil end   -- it is no list, and keeps no other lane back
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

-- The short rows (see store/redis/worker.py) of the next tasks, and of each what its record notes of the claim (see trail), and the
-- record's key; of each lane how many are `taken`, and the `highest` of their numbers. nil if one is unusual, or too much is to be
-- read; of those ahead, in one lane alone, it is the end. An entry of a usual task holds its operation, which is not read again, and
-- the entries stand in the order of their numbers.
local function read_tasks(busy, names)
  local rows, notes, keys, bytes, n = {}, {}, {}, 0, 0
  local note_of = {}   -- by the number of fields: to make a text of a number costs as much as a write
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

-- The record comes first, and `running` last: an error in between leaves an id there, and whoever meets it ends the rest (see end_again).
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
    redis.pcall('PUBLISH', KEY.done .. id, 'completed')
  end
  roll_alike(settlements)
  call('HINCRBY', KEY.tally, 'completed', #ids)
  if type(redis.pcall('ZADD', KEY.finished, unpack(finished))) ~= 'number' then   -- counted and in the index, or neither
    call('HINCRBY', KEY.tally, 'completed', -#ids)
    call('ZADD', KEY.finished, unpack(finished))
  end
  tell_each('settled', ids, details)
  call('HDEL', WORKER .. NAME.of_running, unpack(ids))
end

-- `running` comes first, and the entries are popped last: an error in between leaves what a renewal mends, and duplicate hints.
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
      -- What is no index keeps nothing back: audit removes it.
      if redis.pcall('ZREM', index, unpack(ids, before + 1, before + lane.taken)) ~= lane.taken and call('TYPE', index).ok == 'zset' then
        call('ZREM', index, unpack(ids, before + 1, before + lane.taken))
      end
      call('LPOP', list_of(lane.name), lane.taken)
      call('HSET', KEY.heads, lane.name, math.max(lane.highest, tonumber(call('HGET', KEY.heads, lane.name) or '0') or 0))
      before = before + lane.taken
    end
  end
end

-- The only entry that is wanted, if it is a usual foreign one: with its verb, message and name.
local function read_alone(busy, names)
  if #busy ~= 1 or busy[1].share ~= 1 then return nil end
  local raw = call('LINDEX', list_of(busy[1].name), 0)
  return raw, read_foreign(raw, names)
end

-- Others go on with what is left.
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
