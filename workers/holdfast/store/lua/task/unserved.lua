-- Look after tasks that wait for a handler. End tasks that no worker could have run for too long, wake workers that can run them, and
-- forget names of handlers that no worker has any more.
-- KEYS: the public queue. ARGV: how long a task may wait (ms), how many gates this looks at, how many tasks it looks at in all.
-- Answers: how many tasks were ended.
-- Each gate has a clock. It runs while no live worker serves the gate's lane and handler and the lane is not paused. When a worker serves
-- them again, the time so far counts no more. A long time between two looks (no steward was there, or the clock jumped) counts as a short
-- one.
-- Keeps: I3, I5, I9, I14.
-- flags: allow-oom
-- use: task_end unknown_handlers workers clock journal task_record damage shared_keys kinds_of_errors
local timeout, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local LONGEST_STEP = 10000
local tasks_left = limit
local gates = unknown()

local function fail(id, lane, name, clock)
  leave_index(id, 'submitted', lane)
  local reason = 'no worker has served ' .. (name == '' and 'tasks that name no handler' or 'handler ' .. name) .. ' in lane '
    .. lane .. ' for ' .. math.floor(clock / 1000) .. ' s'
  attempt(error_kinds().note, id, name, 'Unserved\n\nno worker has served the handler', true, true)
  call('ZADD', KEY.dead, NOW, id)
  count('dead')
  finish(id, 'failed', reason, has_rest(id))
  note_end('unserved', id, reason)
end

-- Looks at the tasks with the lowest numbers first: nearly always they came first.
local function fail_late(lane, name, clock, since)
  local failed = 0
  local ids = shared('ZRANGE', gates.held_at(lane, name), 0, tasks_left - 1)
  tasks_left = tasks_left - #ids
  local function leave(id) leave_gate(id, lane, 'unknown:' .. name, true) end
  local function look_at(id)
    local r, flaw = read(id, 'state', 'unknown_at'), flaw_of(id)
    if flaw then
      leave(id)
      return set_task_aside(id, flaw, lane)
    end
    local waited = clock - math.max(since, tonumber(r[2] or '0'))
    if r[1] ~= 'submitted' then
      leave(id)   -- somebody has deleted its record
    elseif waited >= timeout then
      fail(id, lane, name, waited)
      failed = failed + 1
    end
  end

  for _, id in ipairs(ids) do each_task(id, lane, leave, look_at) end
  return failed
end

local function is_paused(lane) return call('HEXISTS', KEY.rules, 'paused:' .. lane) == 1 end

-- Looks after one gate. Answers how many tasks were ended there.
local function look_after(member, looked_at)
  local lane, name = string.match(member, '^(%S+) (.*)$')
  if not gates.first_or_none(lane, name) then return 0 end
  local clock, since = gates.clock_of(lane, name)
  local servers = gates.servers(lane, name)
  if #servers > 0 then
    since = clock
  elseif not is_paused(lane) then
    clock = clock + math.min(math.max(0, NOW - looked_at), LONGEST_STEP)
  end
  -- The bell of a lane that is open again may have been heard by a worker that does not have this handler.
  if #servers > 0 and call('HEXISTS', KEY.closed, lane) == 0 then gates.call_servers(lane, name) end
  call('ZADD', KEY.unserved, NOW, member)
  call('HSET', KEY.clocks, member, string.format('%d %d', clock, since))
  return clock - since >= timeout and fail_late(lane, name, clock, since) or 0
end

-- Forgets the published options of handlers that no worker registers any more.
local function forget_published()
  local digests = call('SMEMBERS', KEY.handlers)
  local function is_registered(name)
    for _, digest in ipairs(digests) do
      if redis.pcall('SISMEMBER', KEY.names .. digest, name) == 1 then return true end
    end
    return name == ''   -- workers without names register none
  end
  local names = redis.pcall('HKEYS', KEY.published)
  for _, name in ipairs(names.err and {} or names) do
    if not is_registered(name) then call('HDEL', KEY.published, name) end
  end
end

local function forget_names()
  local used = {}
  for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
    local names = facts_of_worker(incarnation, 'names')[1]
    if names then used[names] = true end
  end
  local has_forgotten = false
  for _, digest in ipairs(call('SMEMBERS', KEY.handlers)) do
    if not used[digest] then
      call('DEL', KEY.names .. digest)
      call('SREM', KEY.handlers, digest)
      has_forgotten = true
    end
  end
  if has_forgotten then forget_published() end
end

-- Looks at all workers only after one has come or gone. One steward does so.
local function forget_names_once()
  local now = roster()
  if call('HGET', KEY.meta, 'names_of') == now then return end
  forget_names()
  call('HSET', KEY.meta, 'names_of', now)
end

if call('EXISTS', KEY.handlers) == 1 then forget_names_once() end
local failed, looks = 0, call('ZRANGE', KEY.unserved, 0, limit - 1, 'WITHSCORES')
for i = 1, #looks, 2 do
  if tasks_left < 1 then break end
  local went, number = attempt(look_after, looks[i], tonumber(looks[i + 1]))
  if went then failed = failed + number else call('ZREM', KEY.unserved, looks[i]) end   -- the gate's key holds no sorted set
end
return failed
