-- use: task_record limits journal agenda clock parent_results batches amendments damage conversations
-- provides: forget forget_batches
-- Tells a ledger which life of the id is removed.
local function tell_removed(id)
  local amendment = next_amendment(id)
  if amendment then tell('removed', id, (read(id, 'created')[1] or '') .. ' ' .. amendment) end
end

-- How many results a task may have: one a turn. A huge number that somebody has written is told by its history, which has two items
-- of each earlier turn: counting down from it would never end.
local PLAIN_TURNS = 1000
local function turns_of(id, turn)
  local said = whole(turn) or 0
  if said <= PLAIN_TURNS then return said end
  local items = redis.pcall('LLEN', KEY.history .. id)
  return math.min(said, math.max(PLAIN_TURNS, math.floor((tonumber(items) or 0) / 2) + 1))
end

-- Takes a task that goes out of all that refers to it. Each is tried by itself: a damaged one does not keep the record.
local function let_others_know(id, r, results)
  local released = r[4] and select(2, attempt(results.release, id))
  local batch = r[6] and batching().batch_of(r[6])
  if batch then attempt(batching().count_end, id, batch, r[2]) end   -- its end may not have been counted
  if TERMINAL[r[2]] then
    count_out(KEY.finished, id, r[2])
    count(r[2])
  end
  return type(released) == 'number' and released or 0
end

-- Deletes everything that is kept of tasks that have ended, and what applications keep beside them. A task stays for now if its children have not all been told of its
-- end, or its messages have not all been set aside.
-- `how`: trimmed: its retention is over. removed: somebody wants it gone, and a ledger is told. again: a ledger knows that it was removed;
-- then its children have been told of its end, although this Redis has forgotten that.
-- Answers how many were deleted, and whether there is more to delete: results are deleted in bounded steps. A task with more results
-- than there is room for comes behind the others.
local function forget(all, how)
  local ids = {}
  for _, id in ipairs(all) do
    if how == 'again' or call('EXISTS', KEY.children .. id, KEY.left .. id) == 0 then ids[#ids + 1] = id else agenda().put(NOW, 'settle', id) end
  end
  local room, forgotten, results, large = RESULTS_AT_ONCE, 0, nil, nil
  local beside = call('EXISTS', KEY.abouts) == 1   -- most queues keep nothing there

  local function unlink_results(id, from, to)
    for turn = from, to, -1 do call('UNLINK', KEY.result .. id .. ':' .. turn) end
  end

  local function forget_one(id)
    local r = read(id, 'turn', 'state', 'given', 'if_parent_fails', 'finished', 'batch')
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
    if beside and redis.pcall('ZSCORE', KEY.abouts, id) then attempt(forget_about, id) end
    call('UNLINK', KEY.task .. id, KEY.op .. id, KEY.history .. id, KEY.checkpoint .. id, KEY.pending .. id,   -- last: who comes again finds it
      KEY.messages .. id, KEY.trail .. id, KEY.retrying .. id, KEY.steps .. id, KEY.parts .. id)
  end

  for _, id in ipairs(ids) do
    if room <= 0 then break end
    forget_one(id)
  end
  if large and room > 0 then   -- the next call goes on here
    unlink_results(large.id, large.turns, large.turns - room + 1)
    write(large.id, 'turn', large.turns - room)
  end
  if forgotten > 0 then count('trimmed', forgotten) end
  return forgotten, forgotten < #ids
end

-- Deletes batches that ended before a moment, at most `limit`, with their lists of tasks; one whose callback has not ended stays.
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
