-- use: task_record constants journal ties schedules webhook_outbox clock rollup damage shared_keys
-- provides: set_rest_aside has_rest finish note_end end_again
-- Sets aside the messages that still waited when a task ended, in bounded steps; `promote` does the later steps.
-- Each message leaves its list after it was set aside. An error in between leaves it in both places, not in none. If the record was deleted
-- or damaged meanwhile, it has neither the state nor the lane.
local function set_rest_aside(id)
  local r, bytes = read(id, 'state', 'lane'), 0
  local reason = 'task ' .. id .. ' was ' .. (r[1] or 'gone') .. ' before this message ran'
  for _ = 1, ASIDE_AT_ONCE do
    local item = bytes < WINDOW_BYTES and redis.pcall('LINDEX', KEY.left .. id, 0)
    if type(item) ~= 'string' then break end
    set_aside(reason, string.match(item, '^[^|]*|[^|]*|(.*)$') or item, r[2] or QUEUE)
    call('LPOP', KEY.left .. id)
    bytes = bytes + #item
  end
  local rest = redis.pcall('LLEN', KEY.left .. id)
  if type(rest) ~= 'number' then set_task_aside(id, 'its messages are no list') end
  call(type(rest) == 'number' and rest > 0 and 'SADD' or 'SREM', KEY.leftover, id)
end

-- Removes the rest of a task that has ended: sets its waiting messages aside, and cuts its ties.
local function drop_rest(id)
  if call('EXISTS', KEY.pending .. id) == 1 then
    call('RENAME', KEY.pending .. id, KEY.left .. id)
    set_rest_aside(id)
  end
  call('DEL', KEY.checkpoint .. id)
  ties().undo_all(id)
end

-- True if there is anything to remove at the end of a task: messages or other tasks wait for it, it has a checkpoint, or it has ties. This
-- one command spares most tasks several.
local function has_rest(id)
  return call('EXISTS', KEY.pending .. id, KEY.checkpoint .. id, KEY.ties .. id, KEY.children .. id) > 0
end

-- Does everything that follows the end of a task, after its record says that it has ended. `r`: as `known` of `finish`.
local function follow_end(id, state, reason, rest, r)
  count_in(KEY.finished, id, state)
  if rest then drop_rest(id) end
  tell_waiters(id, state)
  attempt(tell_webhook, id, state, r[3], r[4])
  if not r[1] then return end
  local went, flaw = attempt(scheduling().fire_ended, r[1], r[2], id, state, reason, r[5])
  if not went then scheduling().set_aside(r[1], flaw) end
end

-- Ends a task. `rest`: the answer of has_rest. `known`: the fields that this reads, if the caller has read them; then the wait (ms) that
-- the handler has asked for, if its schedule is a CONTINUE one. Further arguments are fields to write. The record is kept for days, so
-- empty fields are removed.
local function finish(id, state, reason, rest, known, ...)
  call('HDEL', KEY.task .. id, 'due', 'deaths', 'reason')
  write(id, 'state', state, 'owner', '', 'claim', '', 'finished', NOW, ...)
  if reason ~= '' then write(id, 'reason', reason) end
  follow_end(id, state, reason, rest, known or read(id, 'schedule', 'generation', 'turn', 'webhook'))
end

-- Notes and counts the end of a task that did not come from a settlement.
local function note_end(how, id, detail)
  note(how, id, detail)
  local r = read(id, 'lane', 'name')
  roll(how, r[1], r[2])
end

-- Completes an end, or a stop for an answer, of which an error has left only the record: no index has the task. For example, the server
-- refuses a command because a right was taken away. Each call that meets such a task calls this: a repeated settlement, a recovery or a
-- renewal that finds it in `running`, a search for strays. Answers true if the task was one. `may_be_left`: an index in which the task has
-- waited may still have it.
local function end_again(id, may_be_left)
  local r = read(id, 'state', 'schedule', 'generation', 'turn', 'webhook', 'reason', 'last_claim', 'lane', 'held')
  local state, is_over = r[1], TERMINAL[r[1]]
  if not (is_over or PARKED[state]) then return false end
  local is_whole = call('ZSCORE', is_over and KEY.finished or KEY.parked, id)
  if is_whole and not may_be_left then return false end
  for _, key in ipairs({KEY.due, KEY.waiting}) do call('ZREM', key, id) end
  if r[8] then shared('ZREM', KEY.submitted .. r[8], id) end
  if r[8] and (r[9] or '') ~= '' then leave_gate(id, r[8], r[9]) end
  if is_whole then return false end
  if is_over then follow_end(id, state, r[6] or '', has_rest(id), {r[2], r[3], r[4], r[5]})
  else
    park(id, state, r[6] or '')
    attempt(tell_webhook, id, state, r[4], r[5])
  end
  if state == 'canceled' then note_end('canceled', id, r[6] or '')
  elseif call('EXISTS', KEY.trail .. id) == 0 then tell('settled', id, state .. ' ' .. (r[4] or '1') .. ' ' .. (r[7] or '') .. ' ') end
  return true
end
