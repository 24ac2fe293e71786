-- use: task_record constants journal agenda clock parent_results batches amendments damage conversations kinds_of_errors
-- provides: forget forget_batches
-- Tells a ledger that a task was removed, and which life of its id.
local function tell_removed(id)
  local amendment = next_amendment(id)
  if amendment then tell('removed', id, (read(id, 'created')[1] or '') .. ' ' .. amendment) end
end

-- How many results a task may have: one for each turn. The turn in the record may be a huge number that somebody has written. Then the
-- length of the history tells, which has two items for each earlier turn.
local PLAIN_TURNS = 1000
local function turns_of(id, turn)
  local said = whole(turn) or 0
  if said <= PLAIN_TURNS then return said end
  local items = redis.pcall('LLEN', KEY.history .. id)
  return math.min(said, math.max(PLAIN_TURNS, math.floor((tonumber(items) or 0) / 2) + 1))
end

-- Removes a task from everything that refers to it. Each part is tried by itself, so damage in one does not keep the record.
local function let_others_know(id, r, results)
  local released = r[4] and select(2, attempt(results.release, id))
  local batch = r[6] and batching().batch_of(r[6])
  if batch then attempt(batching().count_end, id, batch, r[2]) end   -- an error may have prevented the count of its end
  if TERMINAL[r[2]] then
    count_out(KEY.finished, id, r[2])
    count(r[2])
  end
  return type(released) == 'number' and released or 0
end

-- Deletes tasks that have ended, and what applications keep beside them. A task stays for now if some of its children have not been told of
-- its end, or some of its messages have not been set aside. `how`: trimmed: its retention is over. removed: an operator or program wants it
-- gone, and a ledger is told. again: a ledger knows that it was removed; its children were told of its end, although this Redis has
-- forgotten that. Answers how many were deleted, and true if there is more to delete. One call deletes a bounded number of results; a task
-- with too many of them comes last.
local function forget(all, how)
  local ids = {}
  for _, id in ipairs(all) do
    if how == 'again' or call('EXISTS', KEY.children .. id, KEY.left .. id) == 0 then ids[#ids + 1] = id else agenda().put(NOW, 'settle', id) end
  end
  local room, forgotten, results, large = RESULTS_AT_ONCE, 0, nil, nil
  local beside = call('EXISTS', KEY.abouts) == 1   -- most queues have no such data

  local function unlink_results(id, from, to)
    for turn = from, to, -1 do call('UNLINK', KEY.result .. id .. ':' .. turn) end
  end

  local function forget_one(id)
    local r = read(id, 'turn', 'state', 'given', 'if_parent_fails', 'finished', 'batch', 'error', 'name')
    results = (r[3] or r[4]) and (results or parent_results()) or results
    if r[3] then attempt(results.keep, id, r[5], r[1]) end
    local turns = turns_of(id, r[1])
    if turns > room then
      large = large or {id = id, turns = turns}
      return
    end
    unlink_results(id, turns, 1)
    if how == 'removed' then tell_removed(id) end
    room, forgotten = room - turns - let_others_know(id, r, results), forgotten + 1
    call('ZREM', KEY.finished, id)
    call('ZREM', KEY.dead, id)
    if r[7] then attempt(error_kinds().leave, id, r[7], r[8]) end
    if beside and redis.pcall('ZSCORE', KEY.abouts, id) then attempt(forget_about, id) end
    call('UNLINK', KEY.task .. id, KEY.op .. id, KEY.history .. id, KEY.checkpoint .. id, KEY.pending .. id,   -- last, so that a repeated call finds the record
      KEY.messages .. id, KEY.trail .. id, KEY.retrying .. id, KEY.steps .. id, KEY.parts .. id)
  end

  for _, id in ipairs(ids) do
    if room <= 0 then break end
    forget_one(id)
  end
  if large and room > 0 then   -- the next call continues here
    unlink_results(large.id, large.turns, large.turns - room + 1)
    write(large.id, 'turn', large.turns - room)
  end
  if forgotten > 0 then count('trimmed', forgotten) end
  return forgotten, forgotten < #ids
end

-- Deletes at most `limit` batches that ended before a moment, with their lists of tasks. A batch whose callback has not ended stays.
-- Answers how many it looked at.
local function forget_batches(before, limit)
  local page = call('ZRANGEBYSCORE', KEY.batches_ended, '-inf', before, 'LIMIT', 0, limit)
  for _, batch in ipairs(page) do
    local state = read(batching().facts_of(batch).callback or '', 'state')[1]
    if state and not TERMINAL[state] then
      call('ZADD', KEY.batches_ended, NOW, batch)
    else
      call('UNLINK', KEY.batch .. batch, KEY.batch_tasks .. batch)
      call('ZREM', KEY.batches_ended, batch)
      call('ZREM', KEY.batches, batch)
    end
  end
  return #page
end
