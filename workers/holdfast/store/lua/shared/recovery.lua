-- use: task_record lane journal task_end gates pause_requests shared_deaths damage clock constants workers rollup begun kinds_of_errors
-- provides: recover_task recover
-- Puts back the tasks of a dead worker.
--
-- Rule 1. The tombstone comes first. After that this incarnation never claims again.
-- Rule 2. A task goes back only under the claim that the dead worker had. A task that another worker has claimed since stays there.
-- Rule 3. A death counts as a crash only for tasks that had begun, and only if no order has caused it. Other tasks go back to their places.
-- Rule 4. The claim stays in the record: a late result of the dead worker counts until the next claim.
-- Rule 5. A damaged record does not stop the recovery of the other tasks. Its own task is set aside.
--
-- Theory of operation. `recover` takes the task with the highest number first (`owned_last_first`), because each goes to the head of its lane.
-- `put_back_from` counts a death. After SUSPECT_CRASHES deaths, or SUSPECT_RECOVERIES recoveries in a row, a task is a suspect and runs
-- alone. After more deaths than `runs` it is a dead letter.
--
-- Warning. If several tasks had begun, nobody knows which of them has ended the worker, so the death counts for all. A suspect that ends
-- its quarantine worker alone was the cause. Then these deaths no longer count for the others (shared_deaths).
local TOMBSTONE_MS = 86400000
local NAMED = 8   -- the most tasks that a tombstone names
local NOT_BEGUN = ', before it had begun '

-- Counts a death as a crash of a task. A death: {incarnation; cause; charged: it counts as a crash of its tasks; ordered: an order has
-- caused it; runs: how many runs a task has after its first death; begun: the notes of has_begun, nil if nobody knows}.
local function crash(id, claim, death)
  local crashes = call('HINCRBY', KEY.task .. id, 'crashes', 1)
  note('crashed', id, crashes .. ' ' .. death.cause .. ' ' .. claim)
  count('crashes')
  local r = read(id, 'lane', 'name')
  roll('crashed', r[1], r[2])
  local is_dead = crashes > death.runs
  attempt(error_kinds().note, id, r[2], 'WorkerDied\n\n' .. death.cause, is_dead, is_dead)
  if is_dead then
    call('ZADD', KEY.dead, NOW, id)
    count('dead')
    finish(id, 'failed', 'ended its worker ' .. crashes .. ' times', has_rest(id))
    note_end('dead-letter', id, crashes .. ' crashes')
  elseif crashes < SUSPECT_CRASHES then
    to_head(id)
  else
    write(id, 'solo', '1')
    to_later(id, NOW + math.min(1000 * 5 ^ (crashes - 1), 25000))
  end
end

-- Makes a task a suspect after its third recovery in a row without an order: it may have ended the whole host, so that nobody could report
-- a crash.
local function suspect_for_recoveries(id, counts, crashes)
  write(id, 'solo', '1', 'alone', '1')
  if not counts and crashes == 0 then write(id, 'crashes', 1, 'raised', '1') end
end

-- Puts a task back into its lane. A recovery of a suspect counts as a crash. Answers true if this one did.
local function put_back_from(id, claim, death, had_begun)
  if not had_begun then
    count_unbegun(id)
    note('recovered', id, death.cause .. NOT_BEGUN .. claim)
    to_head(id)
    return false
  end
  local r = read(id, 'solo', 'crashes')
  local crashes = tonumber(r[2] or '0')
  local recoveries = not death.ordered and call('HINCRBY', KEY.task .. id, 'recoveries', 1) or 0
  local counts = not death.ordered and (death.charged or r[1] == '1')
  if not counts then note('recovered', id, death.cause .. ' ' .. claim) end
  local is_new = recoveries >= SUSPECT_RECOVERIES and r[1] ~= '1'
  if is_new then suspect_for_recoveries(id, counts, crashes) end
  if counts then crash(id, claim, death) else to_head(id) end
  if is_new and read(id, 'state')[1] == 'submitted' then   -- delayed: its crashes make it one; failed: it runs no more
    note('suspected', id, recoveries .. ' recoveries')
  end
  return counts
end

-- How long ago the worker was lost, in ms: as its parent says, else since its last heartbeat. nil if nobody knows, or an order ended the
-- worker.
local function lost_for(death)
  if death.ordered then return nil end
  local beat = death.ago or call('ZSCORE', KEY.workers, death.incarnation)
  return beat and math.max(0, death.ago or NOW - beat)
end

-- Counts in the rollup for how long these tasks were without a worker. `numbers`: how many tasks each series has. The bucket is floor(8 ·
-- log2(seconds)).
local function roll_recoveries(numbers, ms)
  local bucket = math.floor(8 * math.log(math.max(ms, 0.001) / 1000) / math.log(2) + 1e-9)
  for series, n in pairs(numbers) do
    add_histogram('recovery ' .. series, string.format('%.0f %d %d', ms * 1000 * n, bucket, n))
  end
end

-- Sets aside a claimed task that cannot go back. Other tasks get its permits.
local function set_claimed_aside(id, flaw)
  local r = read(id, 'lane', 'concurrency_key')
  attempt(bounds().give_back, id, r[1], r[2])
  set_task_aside(id, flaw)
end

-- Recovers one task. Its claim stays in the record: a late result of its last owner counts until the next claim. Answers its series in the
-- rollup; nil if it was not recovered.
local function recover_task(id, claim, death, had_begun)
  local r = read(id, 'state', 'claim', 'lane', 'name')
  if r[1] ~= 'working' or (r[2] or '') ~= claim then
    if not end_again(id) then note_no_state(id, r[1]) end
    return
  end
  local flaw = flaw_in(facts(id))
  if flaw then return set_claimed_aside(id, flaw) end   -- somebody has damaged its record; the other tasks go back
  write(id, 'owner', '')
  bounds().vacate(id)
  local counted = put_back_from(id, claim, death, had_begun)
  if death.shared and had_begun then attempt(remember_death, id, death.incarnation, counted) end
  carry_out_pause(id, claim)
  return #(r[3] or '') .. ' ' .. (r[3] or '') .. (r[4] or '')
end

-- The tasks claimed first, at most `most`; they count as begun. `place`: the place among the claims of one request.
local function first_claimed(held, most)
  local claims, begun = {}, {}
  for i, task in ipairs(held) do claims[i] = {id = task.id, claim = task.claim, request = tonumber(string.match(task.claim, ':(%d+)$')) or 0, place = task.place} end
  table.sort(claims, function(a, b)
    if a.request ~= b.request then return a.request < b.request end
    return a.place < b.place
  end)
  for i = 1, math.min(most, #claims) do begun[claims[i].id] = claims[i].claim end
  return begun
end

-- Puts the entries of a worker's inbox back into their lanes, unchanged.
local function return_inbox(incarnation)
  local entries = redis.pcall('LRANGE', inbox_of(incarnation), 0, -1)   -- an error has no elements
  local function back(lane, raw)
    on_lane('LPUSH', lane, raw)
    ring(lane)
  end

  for i = #entries, 1, -1 do
    local went, flaw = attempt(back, string.match(entries[i], '^([^\n]*)\n(.*)$'))
    if not went then set_aside('an entry of an inbox cannot go back: ' .. flaw, entries[i], QUEUE) end
  end
  call('DEL', inbox_of(incarnation))
end

-- Two answers: the begun notes (see has_begun), and how many of these tasks had begun. If there are no notes, the tasks that were claimed
-- first count, as many as the worker runs at once: a worker begins tasks in the order of its claims.
local function begun_of(held, death)
  local begun, count = death.begun, 0
  if not begun then
    local most = tonumber(facts_of_worker(death.incarnation, 'concurrency')[1] or nil) or #held
    begun = first_claimed(held, most)
  end
  for _, task in ipairs(held) do
    if has_begun(begun, task.id, task.claim) then count = count + 1 end
  end
  return begun, count
end

local function recover(death)
  local incarnation = death.incarnation
  local worker = KEY.worker .. incarnation
  local state = facts_of_worker(incarnation, 'state')[1]
  if state == 'dead' and call('EXISTS', running_of(incarnation)) == 0 then return 0 end
  if state == nil then call('UNLINK', worker) end   -- the key holds another type
  local ago, numbers = lost_for(death), {}
  call('HSET', worker, 'state', 'dead', 'cause', death.cause, 'died', NOW)
  call('PEXPIRE', worker, TOMBSTONE_MS)
  call('ZREM', KEY.workers, incarnation)
  call('SREM', KEY.quarantine, incarnation)
  call('HDEL', KEY.ahead, incarnation)
  local held, named = owned_last_first(incarnation), {}
  for i = #held, math.max(1, #held - NAMED + 1), -1 do named[#named + 1] = held[i].id end
  call('HSET', worker, 'held', table.concat(named, ' '))
  call('HDEL', worker, 'lanes', 'names', 'limits', 'application', 'catalog')   -- only needed of a living worker; 200 lanes take 6 KB, for each death of a day
  local begun, count_begun = begun_of(held, death)
  death.shared = count_begun > 1 and not death.ordered
  local alone = count_begun == 1 and #held == 1 and death.charged and call('HGET', worker, 'kind') == 'quarantine'
  if alone and read(held[1].id, 'claim')[1] == held[1].claim then attempt(clear_others, held[1].id) end
  for _, task in ipairs(held) do
    local went, series = attempt(recover_task, task.id, task.claim, death, has_begun(begun, task.id, task.claim))
    if not went then set_claimed_aside(task.id, series)
    elseif series then numbers[series] = (numbers[series] or 0) + 1 end
    call('HDEL', running_of(incarnation), task.id)
  end
  call('DEL', running_of(incarnation))   -- the key may hold another type
  if ago then roll_recoveries(numbers, ago) end
  if death.shared then forget_deaths() end
  return_inbox(incarnation)
  call('DEL', KEY.control .. incarnation)
  count('recovered', #held)
  tell('worker-died', incarnation, death.cause .. ' ' .. #held)
  return #held
end
