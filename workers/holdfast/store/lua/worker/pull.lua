-- Settle outcomes, then claim up to k tasks.
-- KEYS: the public queue.
-- ARGV: incarnation, request, k, settlements, the weights of the lanes ('': they are served in their order), how many tasks to claim beyond
--       k (see fast_pull: this script claims none beyond), then the lanes.
--       The settlements are a MessagePack list of lists: task id, claim, result, kind, delay (ms), reason, checkpoint ('' for none), text of
--       the kind of error ('' if the run has not failed), the last progress ('' if it is kept already). A settlement with only the first
--       three values completes its task.
-- Answers: {standing, verdicts, rows of claims (see store/redis/worker.py), tasks left in the lanes, entries in the inbox}.
--       Standings besides OK: QUIET: the worker's host is to claim nothing. DOUBTED: nobody claims until the steward has compared this
--       Redis with its ledger. APART: a suspect runs alone on this host, or will be the next. FIRES: nothing was claimed, because these
--       settlements let CONTINUE schedules fire, and the worker makes these fires first; the answer then ends with the ids of these
--       schedules.
-- Keeps: I1, I7, I8. Requests are numbered: the same number gets the same claims again, a lower one is refused.
-- An entry is popped after its task was noted in the journal and claimed. An error in between leaves a duplicate entry, never a lost task.
-- flags: allow-oom
-- before: fast_pull
-- use: doubt task_record lane lane_front journal messages task_control settlement claims envelope promotion lane_turns gates lane_alarms suspect_queue unknown_handlers serving_workers claims_ahead clock damage history constants rules schedules workers stale_entries shared_keys
local incarnation, request, slots = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])

local function settle_all()
  local verdicts = {}
  for i, s in ipairs(cmsgpack.unpack(ARGV[4])) do
    verdicts[i] = settle({id = s[1], claim = s[2], result = s[3], kind = s[4] or 'completed', delay = s[5] or 0, reason = s[6] or '',
      checkpoint = s[7] or '', error = s[8] or '', progress = s[9] or ''})
  end
  return verdicts
end

local rows = {}

local function take(id, r) rows[#rows + 1] = claim(id, incarnation, request, r) end   -- an expired task adds no row

local names          -- of this worker's handlers: '*', or the digest under which they are kept
local met = {}         -- gates of unknown handlers that this pull has put tasks at or taken tasks from: lane → names
local strangers, any_unknown

local function of_unknown()
  strangers = strangers or unknown()
  return strangers
end

-- True if a task waits at any gate of an unknown handler.
local function has_unknown()
  if any_unknown == nil then any_unknown = call('EXISTS', KEY.unserved) == 1 end
  return any_unknown
end

local function meet(lane, name)
  met[lane] = met[lane] or {}
  met[lane][name] = true
end

-- Puts a task beside its lane if this worker does not have its handler. Answers true if it did.
local function go_aside(id, lane, name, seq)
  name = name or ''
  if has_name(names, name) then return false end
  of_unknown().hold(id, lane, name, seq)
  meet(lane, name)
  return true
end

-- Claims a task that was met in a lane. It goes to a gate instead if this worker does not have its handler, or if its key or its handler's
-- rate keeps it back. `r`: its facts.
local function take_or_hold(id, lane, key, name, seq, r)
  if go_aside(id, lane, name, seq) then return end
  if (key or is_bounded()) and bounds().hold_back(id, lane, key, name, seq) then return end
  take(id, r)
end

-- The highest number of own entries taken from each lane so far. The record must confirm a number, because anybody can write entries.
local heads = {}

local function head_of(lane)
  heads[lane] = heads[lane] or tonumber(call('HGET', KEY.heads, lane) or '0') or 0
  return heads[lane]
end

local function raise_heads()
  for lane, seq in pairs(heads) do call('HSET', KEY.heads, lane, seq) end
end

-- Takes an own entry. It is a hint: the record decides. Suspects, and tasks at a gate, are claimed only from where they wait. An entry in
-- another lane than its task's is ignored, so that nobody can go round the bounds with it; the audit puts it back.
local function take_own(id, seq, lane)
  local r = facts(id)
  local own_lane, solo, key, name, state, number, held = r[1], r[8], r[10], r[11], r[12], r[13], r[14]
  if not state then count('stale') end
  if state ~= 'submitted' or solo == '1' or (held or '') ~= '' then
    note_no_state(id, state, lane)
    return fewer_stale(lane, 1)
  end
  if pass_over(id, r, lane) then return end
  if number == seq then heads[own_lane] = math.max(head_of(own_lane), tonumber(seq)) end
  if own_lane ~= lane and room_of(own_lane) < 1 then return end
  take_or_hold(id, own_lane, key, name, number, r)
end

-- Takes a foreign `run` entry. Its task gets the number of the entry before it, so that the list stays in order if the task is put back at
-- the head.
local function take_run(id, message, raw, lane, name)
  local digest = 'f' .. redis.sha1hex(raw)
  local r = read(id, 'state', 'message', 'solo', 'seq', 'lane', 'concurrency_key', 'name', 'held')
  if not r[1] then
    create(id, lane, raw, message, digest, 'foreign', head_of(lane))
    if name ~= '' then write(id, 'name', name) end
    if canceled_early(id) then return end
    return take_or_hold(id, lane, nil, name ~= '' and name, head_of(lane), facts(id))
  end
  local verdict = seen(id, message, digest)
  if verdict == 'duplicate' and r[1] == 'submitted' and r[2] == message and r[3] ~= '1' and (r[8] or '') == '' then
    if r[5] ~= lane and room_of(r[5]) < 1 then return end
    return take_or_hold(id, r[5], r[6], r[7], r[4], facts(id))
  end
  refuse(verdict or deliver_message(id, raw, message, digest), id, message, raw, lane)
end

-- True if this call has read or decoded enough. The next call continues.
local read_bytes, decoded_bytes, looked_at = 0, 0, 0
local function has_done_enough()
  local LOOKS = 512   -- the most entries of all lanes together that one pull looks at
  return read_bytes >= WINDOW_BYTES or decoded_bytes >= DECODED_BYTES or looked_at >= LOOKS or told_enough()
end

local understand = envelope_reader()

local function take_foreign(raw, lane)
  decoded_bytes = decoded_bytes + #raw
  local verb, id, message, name = understand(raw)
  if not verb then return set_aside(id, raw, lane) end
  if is_for_damaged(id, raw, lane) then return end
  if verb == 'run' then take_run(id, message, raw, lane, name)
  elseif message ~= '' then refuse(answer_task(id, raw, message, 'f' .. redis.sha1hex(raw)), id, message, raw, lane)
  elseif CONTROL[verb](id, 'asked on the queue') == 'unknown' and verb ~= 'cancel' then set_aside(verb .. UNKNOWN, raw, lane) end
end

-- Tells whether the worker has large entries in its inbox that it has not admitted. Such a worker gets no further ones, so that its
-- recovery takes a bounded time.
local has_inbox
local function is_to_admit()
  if has_inbox == nil then has_inbox = call('EXISTS', inbox_of(incarnation)) == 1 end
  return has_inbox
end

-- Takes an entry that is too large to be decoded here. Answers true if the worker is to read it.
local function take_large(raw, lane)
  local LARGEST = 16777216   -- bytes of an entry that any worker will ever be asked to read
  if #raw > LARGEST then set_aside('larger than ' .. LARGEST .. ' bytes', raw, lane) return false end
  call('RPUSH', inbox_of(incarnation), lane .. '\n' .. raw)
  return true
end

-- Claims up to `want` of the tasks at gates of a lane that may be open again. A gate whose first task is still kept back is looked at again
-- later; the next gate is looked at now.
local function take_from_gates(lane, want)
  local gates, before, looked = KEY.gates .. lane, #rows, 0

  local function look_at(id, gate)
    local r = facts(id)
    local key, name = r[10], r[11]
    local waits = r[12] == 'submitted'   -- else somebody has deleted its record
    if waits and pass_over(id, r, lane) then
      leave_gate(id, lane, gate)
      return true
    end
    if waits and not has_name(names, name or '') then
      looked = looked + 1
      if looked > SCAN then return false end
      if r[8] == '1' then suspects().leave(id, lane, gate) else leave_gate(id, lane, gate) end
      return go_aside(id, lane, name, r[13])
    end
    local at = waits and bounds().kept_back(lane, key, name)
    if at then
      shared('ZADD', gates, at, gate)
      return false
    end
    if waits and r[8] == '1' then
      suspects().offer(id, lane, gate)
      return false
    end
    leave_gate(id, lane, gate, not waits)
    if waits then take(id, r) end
    return true
  end

  -- Takes the first task of a gate. Answers true if the next task may be looked at.
  local function take_first(gate)
    local first = bounds().first_at(lane, gate)
    local function leave(id) leave_gate(id, lane, gate, true) end
    return first and each_task(first, lane, leave, look_at, gate) ~= false
  end

  for _, gate in ipairs(shared('ZRANGEBYSCORE', gates, '-inf', NOW, 'LIMIT', 0, GATES)) do
    while #rows - before < want and not told_enough() and take_first(gate) do end
  end
end

-- Claims up to `want` of the tasks that wait for this worker's handlers at gates of unknown handlers, in the order of their numbers.
local function take_from_unknown(lane, want)
  local before, unknown = #rows, of_unknown()
  local function look_at(id, name)
    local r = facts(id)
    local waits = r[12] == 'submitted'   -- else somebody has deleted its record
    leave_gate(id, lane, 'unknown:' .. name, not waits)
    meet(lane, name)
    if waits and pass_over(id, r, lane) then waits = false end
    if waits and r[8] == '1' then add_suspect(id, lane, r[13])
    elseif waits then take_or_hold(id, lane, r[10], r[11], r[13], r) end
  end

  for _ = 1, want + SCAN do
    local name = #rows - before < want and not told_enough() and unknown.names_for(lane, names)[1]
    if not name then return end
    local id = unknown.first_or_none(lane, name)
    local function leave() leave_gate(id, lane, 'unknown:' .. name, true) end
    if id then each_task(id, lane, leave, look_at, name) end
  end
end

-- Takes an entry of a lane. Answers true if it went to the inbox.
local function take_entry(raw, lane)
  local id, seq = own(raw)
  if id then take_own(id, seq, lane)
  elseif #raw > READ_BYTES then return take_large(raw, lane)
  else take_foreign(raw, lane) end
end

-- Claims up to `want` tasks of one lane. Answers how many. If an entry goes to the inbox, the pull ends with it: the worker admits it to
-- the head before it asks for the entries after it, so the lane stays in order.
local function take_lane(lane, want)
  local WINDOW = 16   -- entries that are read at once
  local before, looked, inboxed = #rows, 0, false
  if is_bounded() then
    want = math.min(want, (room_of(lane)))   -- tasks met in other lanes may have used up some of this lane's room
    take_from_gates(lane, want)
  end
  if has_unknown() then take_from_unknown(lane, want - (#rows - before)) end
  while #rows - before < want and looked < want + SCAN and not inboxed and not has_done_enough() do
    local window, bytes = front_of(lane, math.min(want - (#rows - before), WINDOW))
    local done = 0
    if #window == 0 then break end
    read_bytes = read_bytes + bytes
    for _, raw in ipairs(window) do
      inboxed = not own(raw) and #raw > READ_BYTES and is_to_admit()
      if inboxed then break end
      inboxed = each_entry(raw, lane, take_entry)
      done = done + 1
      if inboxed or decoded_bytes >= DECODED_BYTES or told_enough() then break end
    end
    on_lane('LPOP', lane, done)
    looked, looked_at = looked + done, looked_at + done
  end
  return #rows - before
end

local LANES, WEIGHTS = served_lanes()

-- How many tasks a lane offers to this worker now.
local function offer_of(lane)
  local waiting = size_of('LLEN', list_of(lane)) + (has_unknown() and of_unknown().count_for(lane, names) or 0)
  if not is_bounded() then return waiting end
  return math.min(room_of(lane), waiting + shared('ZCOUNT', KEY.gates .. lane, '-inf', NOW))
end

-- Three answers: how many tasks each lane offers; their sum; how many lanes offer any.
local function look()
  local offers, sum, busy = {}, 0, 0
  for i, lane in ipairs(LANES) do
    offers[i] = offer_of(lane)
    if offers[i] > 0 then sum, busy = sum + offers[i], busy + 1 end
  end
  return offers, sum, busy
end

-- Claims a suspect, unless this worker does not have its handler. Answers true if it was claimed and has not expired. A suspect whose
-- handler another worker has stays for that worker.
local function take_suspect(id, lane, r)
  local before, gate = #rows, r[6]
  if not has_name(names, r[5] or '') then
    if #of_unknown().servers(lane, r[5] or '') > 0 then return false end
    suspects().leave(id, lane, gate)
    go_aside(id, lane, r[5], r[3])
    return false
  end
  local whole = facts(id)
  if pass_over(id, whole, lane) then
    suspects().leave(id, lane, gate)
    return false
  end
  take(id, whole)
  if #rows == before then return false end
  suspects().leave(id, lane, gate)
  return true
end

-- Claims one suspect for a quarantine worker, and nothing else. A task that is a suspect because of recoveries waits until no other
-- quarantine worker of this host runs anything. The first such task that is met is noted as the next of its host (`apart`). While it may
-- start, no other suspect starts before it.
local function take_in_quarantine(host)
  if slots == 0 or call('HLEN', running_of(incarnation)) > 0 then return end
  local others, apart = suspects().others_run(incarnation, host)
  if apart then return end

  local function take_or_wait(id, lane, r)
    if not others or r[7] ~= '1' then return take_suspect(id, lane, r) and 'enough' end
    if not has_name(names, r[5] or '') then return end
    call('HSET', KEY.apart, host, id)
    return 'enough'
  end

  local next, met = call('HGET', KEY.apart, host), false
  if next then
    suspects().visit_all(LANES, function(id, lane, r)
      if id ~= next then return end
      met = take_or_wait(id, lane, r)
      return 'enough'
    end)
    if met and not others then call('HDEL', KEY.apart, host) end
  end
  if not met then suspects().visit_all(LANES, take_or_wait) end
end

-- For a worker of a process that cannot fork. If no supervisor serves the lane and handler of a suspect, this worker claims the suspect
-- when it holds nothing else. It claims nothing beside a suspect, or while one may start. Answers true if so.
local function attend_suspects()
  local held = call('HLEN', running_of(incarnation))
  if held == 1 and read(call('HKEYS', running_of(incarnation))[1], 'solo')[1] == '1' then return true end
  local attends, who = false, nil
  suspects().visit_all(LANES, function(id, lane, r)
    who = who or serving()
    if who.is_supervised(lane, r[5] or '') then return end
    local must_wait = (held > 0 or slots == 0) and has_name(names, r[5] or '')
    attends = must_wait or take_suspect(id, lane, r)
    return attends and 'enough'
  end)
  return attends
end

local function take_in_order(offers, want)
  for i, lane in ipairs(LANES) do
    local share = is_bounded() and math.min(want, offers[i]) or want
    if share > 0 and offers[i] > 0 then want = want - take_lane(lane, share) end
  end
end

-- Takes tasks by the turns of the lanes. If a lane gives less than it holds, because a pull looks at a bounded number of its entries, the
-- other lanes get the rest.
local function take_in_turns(offers, want)
  local ROUNDS = 4   -- times that turns are computed again after lanes have given less than they hold
  for _ = 1, ROUNDS do
    if want <= 0 or has_done_enough() then return end
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

-- Takes this worker's share of the waiting tasks, so that eight long tasks go to eight workers.
local function take_share(offers, waiting, busy)
  if slots == 0 or waiting == 0 then return end
  local live = math.max(1, call('ZCARD', KEY.workers) - call('SCARD', KEY.quarantine))
  local want = math.min(slots, math.max(1, math.ceil(waiting / live)))
  if busy > 1 and #WEIGHTS > 0 then take_in_turns(offers, want) else take_in_order(offers, want) end
end

-- Rings the bells of lanes that still hold tasks, so that other workers take them. Answers how many tasks are left.
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

-- Wakes workers that have the handlers of tasks at the gates that this pull has met.
local function call_servers()
  for lane, gates in pairs(met) do
    for name in pairs(gates) do
      if of_unknown().first_at(lane, name) then of_unknown().call_servers(lane, name) end
    end
  end
end

local function ring_for(lanes)
  for lane in pairs(lanes) do ring(lane) end
end

local function pull()
  ring_at_the_end()
  local verdicts = settle_all()
  local known = redis.pcall('HMGET', KEY.worker .. incarnation, 'state', 'request', 'kind', 'quiet', 'host', 'names')   -- an error has no elements
  local last = tonumber(known[2] or nil) or 0
  names = known[6]
  if known[1] ~= 'live' or request <= last then ring_for(freed) end
  if not known[1] then return {'UNKNOWN', verdicts, {}, 0, 0} end
  if known[1] == 'dead' then return {'DEAD', verdicts, {}, 0, 0} end
  if request < last then return {'STALE', verdicts, {}, 0, 0} end
  if request == last then
    return {'REPLAY', verdicts, claimed_in(incarnation, request, LANES), select(2, look()), call('LLEN', inbox_of(incarnation))}
  end
  call('HSET', KEY.worker .. incarnation, 'request', request)
  local word = known[4] and 'QUIET' or 'OK'
  local live = known[1] == 'live' and word == 'OK'
  -- A number that leaps means that this Redis does not know the worker's last requests.
  if (request > last + 1 and doubt().begin(incarnation, 'request ' .. request .. ' after ' .. last)) or doubt().lasts() then
    if live then return {'DOUBTED', verdicts, {}, 0, call('LLEN', inbox_of(incarnation))} end
  end
  if live and call('EXISTS', KEY.due, KEY.agenda, KEY.leftover, KEY.joining) > 0 then
    promote(16)   -- submits due tasks, in case there is no steward
  end
  if known[3] == 'quarantine' or (live and known[3] == 'single' and attend_suspects()) then
    if known[3] == 'single' then
      word = 'APART'
      ring_on()   -- this worker takes nothing, so the bell that it has heard is rung again for others
    elseif live then
      take_in_quarantine(known[5])
    end
    ring_for(freed)
    call_servers()
    return {word, verdicts, rows, 0, call('LLEN', inbox_of(incarnation))}
  end
  -- The next fire of a CONTINUE schedule is in its lane before this worker claims; otherwise the weights of lanes would not count. If a
  -- ledger follows this Redis, only its stewards make fires.
  local fires
  if live and slots > 0 and #go_on_now > 0 and call('HEXISTS', KEY.meta, 'ledger') + call('HEXISTS', KEY.meta, 'rebuilding') == 0 then
    word, fires = 'FIRES', go_on_now
  end
  local offers, waiting, busy = look()
  if live and not fires then
    take_share(offers, waiting, busy)
    raise_heads()
  end
  if live and slots > 0 and #rows == 0 then
    for i, lane in ipairs(LANES) do
      if offers[i] == 0 then ask_back(lane, incarnation) end
    end
  end
  -- A pull that finds nothing, the most frequent one, ends here.
  if waiting == 0 and not is_bounded() then return {word, verdicts, rows, 0, 0, fires} end
  local left = ring_on()
  ring_for(freed)
  call_servers()
  return {word, verdicts, rows, left, call('LLEN', inbox_of(incarnation)), fires}
end

return pull()
