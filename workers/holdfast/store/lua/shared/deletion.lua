-- use: task_record limits journal agenda clock parent_results batches amendments
-- provides: forget forget_batches
-- Tells a ledger which life of the id is removed.
local function tell_removed(id)
  local amendment = next_amendment(id)
  if amendment then tell('removed', id, (read(id, 'created')[1] or '') .. ' ' .. amendment) end
end

-- Deletes everything that is kept of tasks that have ended. A task stays for now if its children have not all been told of its
-- end, or its messages have not all been set aside.
-- `how`: trimmed: its retention is over. removed: somebody wants it gone, and a ledger is told. again: a ledger knows that it was removed;
-- then its children have been told of its end, although this Redis has forgotten that.
-- Answers how many were deleted, and whether there is more to delete: results are deleted in bounded steps.
local function forget(all, how)
  local ids = {}
  for _, id in ipairs(all) do
    if how == 'again' or call('EXISTS', KEY.children .. id, KEY.left .. id) == 0 then ids[#ids + 1] = id else agenda().put(NOW, 'settle', id) end
  end
  local room, forgotten, results = RESULTS_AT_ONCE, 0, nil
  for _, id in ipairs(ids) do
    if room <= 0 then break end
    local r = read(id, 'turn', 'state', 'given', 'if_parent_fails', 'finished', 'batch')
    results = (r[3] or r[4]) and (results or parent_results()) or results
    if r[3] then results.keep(id, r[5], r[1]) end
    local said = string.match(r[1] or '', '^%d+$')
    local turns = said and #said < 10 and tonumber(said) or 0   -- 0 where somebody has damaged it: counting down from 1e30 never ends
    for turn = turns, math.max(1, turns - room + 1), -1 do call('UNLINK', KEY.result .. id .. ':' .. turn) end
    if turns > room then   -- the next call goes on here
      write(id, 'turn', turns - room)
      break
    end
    if how == 'removed' then tell_removed(id) end
    room, forgotten = room - turns - (r[4] and results.release(id) or 0), forgotten + 1
    local batch = r[6] and batching().batch_of(r[6])
    if batch then batching().count_end(id, batch, r[2]) end   -- an earlier version may have ended it
    if r[2] then
      tally(r[2], -1)
      count(r[2])
    end
    call('UNLINK', KEY.task .. id, KEY.op .. id, KEY.history .. id, KEY.checkpoint .. id, KEY.pending .. id,
      KEY.messages .. id, KEY.trail .. id, KEY.retrying .. id, KEY.steps .. id, KEY.parts .. id)
    call('ZREM', KEY.finished, id)
    call('ZREM', KEY.dead, id)
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
