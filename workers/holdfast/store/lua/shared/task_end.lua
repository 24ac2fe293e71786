-- use: task_record limits journal ties schedules webhook_outbox clock rollup damage
-- provides: set_rest_aside has_rest finish note_end
-- Sets aside the messages that still waited when a task ended, in bounded steps: `promote` does the rest.
-- Each leaves its list behind that: an error in between leaves it twice, not nowhere. A record that was deleted or damaged
-- meanwhile says neither the state nor the lane.
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

-- Removes what belongs to a task that has ended: sets its waiting messages aside and undoes its ties.
local function drop_rest(id)
  if call('EXISTS', KEY.pending .. id) == 1 then
    call('RENAME', KEY.pending .. id, KEY.left .. id)
    set_rest_aside(id)
  end
  call('DEL', KEY.checkpoint .. id)
  ties().undo_all(id)
end

-- True if messages or other tasks wait for a task, a checkpoint is kept, or something points at it. One look, which spares most
-- tasks several.
local function has_rest(id)
  return call('EXISTS', KEY.pending .. id, KEY.checkpoint .. id, KEY.ties .. id, KEY.children .. id) > 0
end

-- Ends a task. `rest`: whether has_rest; `known`: the fields that are read here, from a caller that has read them, and
-- after these the wait that the handler has asked for (ms): its schedule may be one that goes on from there;
-- what follows are further fields to write. Its record is kept for days: without empty fields it is smaller.
local function finish(id, state, reason, rest, known, ...)
  call('HDEL', KEY.task .. id, 'due', 'deaths', 'reason')
  write(id, 'state', state, 'owner', '', 'claim', '', 'finished', NOW, ...)
  if reason ~= '' then write(id, 'reason', reason) end
  call('ZADD', KEY.finished, NOW, id)
  tally(state, 1)
  if rest then drop_rest(id) end
  tell_waiters(id, state)
  local r = known or read(id, 'schedule', 'generation', 'turn', 'webhook')
  attempt(tell_webhook, id, state, r[3], r[4])
  if not r[1] then return end
  local went, flaw = attempt(scheduling().fire_ended, r[1], r[2], id, state, reason, r[5])
  if not went then scheduling().set_aside(r[1], flaw) end
end

-- Notes the end of a task that no settlement has ended, and counts it.
local function note_end(how, id, detail)
  note(how, id, detail)
  local r = read(id, 'lane', 'name')
  roll(how, r[1], r[2])
end
