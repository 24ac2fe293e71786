-- Settle what is done, then claim up to k tasks.
-- KEYS: the public queue.
-- ARGV: incarnation, request, k, settlements as MessagePack (a list of lists: task id, claim, kind, delay in ms, reason,
--       result, checkpoint, '' for none), the lanes' weights ('' to serve them in their order), then the lanes.
-- Answers: {standing (QUIET: its host is to claim nothing), verdicts, rows of claims, backlog left, solo (1 or 0), entries in the inbox}.
-- Keeps: I1, I7, I8. Requests are numbered: the same number gets the same claims again, a lower one is refused.
-- Everything is journaled and claimed before it is popped: an error in between leaves a duplicate hint, never a loss.
-- flags: allow-oom
-- use: task_record lane lane_front journal messages task_control settlement claims envelope promotion lane_turns gates lane_alarms
local incarnation, request, slots = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local worker = T .. 'worker:' .. incarnation
local PROMOTED = 16        -- due tasks submitted in passing, for where there is no steward
local WINDOW = 16          -- entries read at once: they may be large
local LARGEST = 16777216   -- bytes of an entry that any worker will ever be asked to read

local function settle_all()
  local verdicts = {}
  for i, s in ipairs(cmsgpack.unpack(ARGV[4])) do
    verdicts[i] = settle({id = s[1], claim = s[2], kind = s[3], delay = s[4], reason = s[5], result = s[6], checkpoint = s[7]})
  end
  return verdicts
end

local rows = {}

local function take(id, r) rows[#rows + 1] = claim(id, incarnation, request, r or facts(id)) end   -- none if it has expired

-- Claim a task that was met in a lane, unless its key or its handler's rate keeps it back. `r`: its facts, if known.
local function take_or_hold(id, lane, key, name, seq, r)
  if (key or is_bounded()) and bounds().hold_back(id, lane, key, name, seq) then return end
  take(id, r)
end

-- The highest own number taken from a lane so far. Only a number that the record confirms: anybody can write entries.
local heads = {}

local function head_of(lane)
  heads[lane] = heads[lane] or tonumber(call('HGET', T .. 'heads', lane) or '0')
  return heads[lane]
end

local function raise_heads()
  for lane, seq in pairs(heads) do call('HSET', T .. 'heads', lane, seq) end
end

-- An own entry is a hint: the record decides. Solo tasks are only claimed by reservation, those at a gate from there.
-- One that somebody put into another lane is no way round the bounds of its own: audit puts it back there.
local function take_own(id, seq, lane)
  local r = facts(id)
  local own_lane, solo, key, name, state, number, held = r[1], r[8], r[10], r[11], r[12], r[13], r[14]
  if not state then count('stale') return end
  if state ~= 'submitted' or solo == '1' or (held or '') ~= '' then return end
  if number == seq then heads[own_lane] = math.max(head_of(own_lane), tonumber(seq)) end
  if own_lane ~= lane and room_of(own_lane) < 1 then return end
  take_or_hold(id, own_lane, key, name, number, r)
end

local function take_resume(id, message, raw, lane)
  refuse(answer_task(id, raw, message, 'f' .. redis.sha1hex(raw)), id, message, raw, lane)
end

-- A foreign run takes the sequence of the entry before it, so that put back at the head it keeps the list sorted.
local function take_run(id, message, raw, lane, name)
  local digest = 'f' .. redis.sha1hex(raw)
  local r = read(id, 'state', 'message', 'solo', 'seq', 'lane', 'concurrency_key', 'name', 'held')
  if not r[1] then
    create(id, lane, raw, message, digest, 'foreign', head_of(lane))
    if name ~= '' then write(id, 'name', name) end
    if canceled_early(id) then return end
    return take_or_hold(id, lane, nil, name ~= '' and name, head_of(lane))
  end
  local verdict = seen(id, message, digest)
  if verdict == 'duplicate' and r[1] == 'submitted' and r[2] == message and r[3] ~= '1' and (r[8] or '') == '' then
    if r[5] ~= lane and room_of(r[5]) < 1 then return end
    return take_or_hold(id, r[5], r[6], r[7], r[4])
  end
  refuse(verdict or deliver_message(id, raw, message, digest), id, message, raw, lane)
end

local CONTROL = {cancel = cancel, pause = pause, resume = resume}

local function take_foreign(raw, lane)
  local verb, id, message, name = understand(raw)
  if not verb then set_aside(id, raw, lane)
  elseif verb == 'run' then take_run(id, message, raw, lane, name)
  elseif message ~= '' then take_resume(id, message, raw, lane)
  elseif CONTROL[verb](id, 'asked on the queue') == 'unknown' and verb ~= 'cancel' then set_aside(verb .. UNKNOWN, raw, lane) end
end

-- Too large to be read here. Answers whether the worker is to read it.
local function take_large(raw, lane)
  if #raw > LARGEST then set_aside('larger than ' .. LARGEST .. ' bytes', raw, lane) return false end
  call('RPUSH', inbox_of(incarnation), lane .. '\n' .. raw)
  return true
end

-- Claim up to `want` of those that wait at gates of a lane that may be open again. A gate whose first task is still kept
-- back is looked at again later, and the next gate now.
local function take_from_gates(lane, want)
  local gates, before = T .. 'gates:' .. lane, #rows

  local function take_first(gate)
    local id = call('ZRANGE', T .. 'held:' .. lane .. ':' .. gate, 0, 0)[1]
    if not id then return false end
    local r = read(id, 'state', 'concurrency_key', 'name')
    local waits = r[1] == 'submitted'   -- else its record was deleted by somebody
    local at = waits and bounds().kept_back(lane, r[2], r[3])
    if at then
      call('ZADD', gates, at, gate)
      return false
    end
    leave_gate(id, lane, gate, not waits)
    if waits then take(id) end
    return true
  end

  for _, gate in ipairs(call('ZRANGEBYSCORE', gates, '-inf', NOW, 'LIMIT', 0, GATES)) do
    while #rows - before < want and take_first(gate) do end
  end
end

-- Claim up to `want` from one lane; how many were claimed. One that goes to the inbox ends the round: the worker admits
-- it to the head before it asks for what was behind it, so a lane stays in order.
local function take_lane(lane, want)
  local before, looked, inboxed = #rows, 0, false
  if is_bounded() then
    want = math.min(want, (room_of(lane)))   -- entries of other lanes may have taken some of what it offered
    take_from_gates(lane, want)
  end
  while #rows - before < want and looked < want + SCAN and not inboxed do
    local window, done = front_of(lane, math.min(want - (#rows - before), WINDOW)), 0
    if #window == 0 then break end
    for _, raw in ipairs(window) do
      local id, seq = own(raw)
      if id then take_own(id, seq, lane)
      elseif #raw > READ_BYTES then inboxed = take_large(raw, lane)
      else take_foreign(raw, lane) end
      done = done + 1
      if inboxed then break end
    end
    on_lane('LPOP', lane, done)
    looked = looked + done
  end
  return #rows - before
end

local LANES, WEIGHTS = {unpack(ARGV, 6)}, {}
for weight in string.gmatch(ARGV[5], '%d+') do WEIGHTS[#WEIGHTS + 1] = tonumber(weight) end

-- How much of a lane may start now.
local function offer_of(lane)
  local waiting = call('LLEN', list_of(lane))
  if not is_bounded() then return waiting end
  return math.min(room_of(lane), waiting + call('ZCOUNT', T .. 'gates:' .. lane, '-inf', NOW))
end

-- How much each lane offers, the sum, and how many offer anything.
local function look()
  local offers, sum, busy = {}, 0, 0
  for i, lane in ipairs(LANES) do
    offers[i] = offer_of(lane)
    if offers[i] > 0 then sum, busy = sum + offers[i], busy + 1 end
  end
  return offers, sum, busy
end

-- A reservation holds as long as its worker lives and says the same.
local function reserved_elsewhere(id)
  local holder = read(id, 'reserved')[1]
  if not holder or holder == incarnation then return false end
  local r = call('HMGET', T .. 'worker:' .. holder, 'state', 'solo', 'quiet')
  return r[1] == 'live' and r[2] == id and not r[3]
end

-- Whether the bounds of its lane, its key or its handler keep a task from starting now.
local function is_kept_back(id)
  local r = read(id, 'lane', 'concurrency_key', 'name')
  return room_of(r[1]) < 1 or ((is_bounded() or r[2]) and bounds().kept_back(r[1], r[2], r[3]))
end

local function find_solo(except)
  local served = {}
  for _, lane in ipairs(LANES) do served[lane] = true end
  for _, id in ipairs(call('ZRANGE', T .. 'solo', 0, 63)) do
    if id ~= except and served[read(id, 'lane')[1]] and not reserved_elsewhere(id) and not is_kept_back(id) then return id end
  end
end

-- The suspect of two crashes runs alone: reserve it, claim nothing else, and start it once nothing else is held.
-- Answers whether this worker is bound to it.
local function attend_solo(before, solo_waits)
  local id = before ~= '' and before or nil
  if id and call('HEXISTS', running_of(incarnation), id) == 1 then return true end
  if id and (not call('ZSCORE', T .. 'solo', id) or is_kept_back(id)) then id = nil end
  id = id or (slots > 0 and solo_waits and find_solo() or nil)
  if before ~= (id or '') then call('HSET', worker, 'solo', id or '') end
  if not id then return false end
  write(id, 'reserved', incarnation)
  if slots > 0 and call('HLEN', running_of(incarnation)) == 0 then
    call('ZREM', T .. 'solo', id)
    take(id)
  end
  return true
end

local function take_in_order(offers, want)
  for i, lane in ipairs(LANES) do
    local share = is_bounded() and math.min(want, offers[i]) or want
    if share > 0 then want = want - take_lane(lane, share) end
  end
end

-- A lane that gives less than it holds has given what can be looked at in one pull: the others get the rest.
local function take_in_turns(offers, want)
  for _ = 0, #LANES do
    if want <= 0 then return end
    local shares, had = turns(LANES, WEIGHTS, offers, want)
    note_turns(LANES, had)
    for i, share in ipairs(shares) do
      if share > 0 then
        local taken = take_lane(LANES[i], share)
        want, offers[i] = want - taken, taken < share and 0 or offers[i] - taken
      end
    end
  end
end

-- This worker's share of what waits, so that eight long tasks land on eight workers.
local function take_share(offers, waiting, busy)
  if slots == 0 or waiting == 0 then return end
  local live = math.max(1, call('ZCARD', T .. 'workers'))
  local want = math.min(slots, math.max(1, math.ceil(waiting / live)))
  if busy > 1 and #WEIGHTS > 0 then take_in_turns(offers, want) else take_in_order(offers, want) end
end

-- Others go on with what is left. Answers how much that is.
local function ring_on()
  local left = 0
  for _, lane in ipairs(LANES) do
    if is_bounded() then close_or_open(lane) end
    local waiting = offer_of(lane)
    if waiting > 0 then ring(lane) end
    freed[lane] = nil
    left = left + waiting
  end
  return left
end

local function ring_for(lanes)
  for lane in pairs(lanes) do ring(lane) end
end

ring_later = true
local verdicts = settle_all()
local known = call('HMGET', worker, 'state', 'request', 'solo', 'quiet')
if known[1] ~= 'live' or request <= tonumber(known[2]) then ring_for(freed) end
if not known[1] then return {'UNKNOWN', verdicts, {}, 0, 0, 0} end
if known[1] == 'dead' then return {'DEAD', verdicts, {}, 0, 0, 0} end
if request < tonumber(known[2]) then return {'STALE', verdicts, {}, 0, 0, 0} end
if request == tonumber(known[2]) then
  return {'REPLAY', verdicts, claimed_in(incarnation, request), select(2, look()), known[3] and known[3] ~= '' and 1 or 0,
    call('LLEN', inbox_of(incarnation))}
end
call('HSET', worker, 'request', request)
local word = known[4] and 'QUIET' or 'OK'
local live, bound = known[1] == 'live' and word == 'OK', false
local seldom = call('EXISTS', T .. 'solo', T .. 'due', T .. 'agenda') > 0
if live and seldom then promote(PROMOTED) end
local solo_waits = seldom and call('EXISTS', T .. 'solo') == 1
local offers, waiting, busy = look()
if live then
  bound = attend_solo(known[3] or '', solo_waits)
  if not bound then take_share(offers, waiting, busy) end
  raise_heads()
end
if solo_waits then ring_for_solo(find_solo(call('HGET', worker, 'solo'))) end
-- An idle pull, the commonest of all, has looked often enough.
if waiting == 0 and not is_bounded() then return {word, verdicts, rows, 0, bound and 1 or 0, 0} end
local left = ring_on()
ring_for(freed)
return {word, verdicts, rows, left, bound and 1 or 0, call('LLEN', inbox_of(incarnation))}
