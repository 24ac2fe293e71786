-- use: task_record journal
-- Schedules: a hash each, all ids in one sorted set by when something is to be done about them (+inf: nothing is).
-- Expressions are read and moments computed by whoever calls; here is compared, counted and written.
-- A function that makes functions: few tasks are fires, and each function of a script costs every call of it.
local function scheduling()
  local HISTORY_KEPT = 100

  local function schedule_of(id) return T .. 'schedule:' .. id end

  local function chronicle(id, what, scheduled_at, task, detail)
    local history = schedule_of(id) .. ':history'
    local line = NOW .. '|' .. what .. '|' .. scheduled_at .. '|' .. task .. '|' .. (detail or '')
    if call('RPUSH', history, line) > HISTORY_KEPT then call('LTRIM', history, -HISTORY_KEPT, -1) end
    tell('schedule-' .. what, id, scheduled_at .. ' ' .. task .. ' ' .. (detail or ''))
  end

  -- The steward sleeps until the earliest one: tell it if that has changed.
  local function index_schedule(id)
    local r = call('HMGET', schedule_of(id), 'due', 'paused', 'until', 'pending', 'released')
    local at = r[1]
    if r[2] ~= '' then at = r[3] elseif r[4] ~= '' and r[5] == '1' then at = NOW end
    call('ZADD', T .. 'schedules', at ~= '' and at or '+inf', id)
    local alarm = T .. 'control:schedules'
    if at ~= '' and call('ZRANK', T .. 'schedules', id) == 0 and call('LLEN', alarm) == 0 then call('RPUSH', alarm, 'due') end
  end

  -- Whose it is: who prunes what it has made finds it without a look at all others.
  local function belong(id, before, owner)
    if before == owner then return end
    if before and before ~= '' then call('ZREM', T .. 'owner:' .. before, id) end
    if owner ~= '' then call('ZADD', T .. 'owner:' .. owner, 0, id) end
  end

  local function forget_schedule(id)
    belong(id, call('HGET', schedule_of(id), 'owner') or '', '')
    if call('UNLINK', schedule_of(id), schedule_of(id) .. ':history') > 0 then tell('schedule-removed', id) end
    call('ZREM', T .. 'schedules', id)
  end

  local function pause_schedule(id, reason, till)
    call('HSET', schedule_of(id), 'paused', reason, 'until', till)
    index_schedule(id)
    chronicle(id, 'paused', '', '', reason)
  end

  local function stop_schedule(id, why)
    call('HSET', schedule_of(id), 'expected', '', 'due', '', 'pending', '', 'ended', why)
    chronicle(id, 'stopped', '', '', why)
    index_schedule(id)
  end

  -- Whether the bounds allow one more fire at this moment.
  local function may_go_on(id, at)
    local r = call('HMGET', schedule_of(id), 'fires', 'limit', 'end')
    return (r[2] == '' or tonumber(r[1]) < tonumber(r[2])) and (r[3] == '' or at <= tonumber(r[3]))
  end

  -- CONTINUE: the next fire is counted from the end of the one before.
  local function go_on(id, asked)
    -- Each fire has a moment of its own, however fast the run was: by it the next task has another id.
    local at = math.max(asked, 1 + (tonumber(call('HGET', schedule_of(id), 'last') or nil) or 0))
    if not may_go_on(id, at) then return stop_schedule(id, 'it has fired for the last time') end
    call('HSET', schedule_of(id), 'expected', at, 'due', at)
    index_schedule(id)
  end

  -- Its last task may have ended unnoticed, while this Redis had lost it: what waits for that end waits no longer.
  local function catch_up(id)
    local r = call('HMGET', schedule_of(id), 'task', 'pending', 'cadence', 'expected', 'ended', 'backoff')
    local state = r[1] ~= '' and read(r[1], 'state')[1]
    if r[1] == '' or (state and not TERMINAL[state]) then return end
    if r[2] ~= '' then
      call('HSET', schedule_of(id), 'released', '1')
    elseif string.sub(r[3], 1, 8) == 'continue' and r[4] == '' and r[5] == '' then
      go_on(id, NOW + r[6])
    end
  end

  -- What the end of a fire's task means for its schedule. `backoff`: what the handler asked for, ms, nil for nothing.
  local function fire_ended(id, generation, task, state, reason, backoff)
    local r = call('HMGET', schedule_of(id), 'generation', 'cadence', 'task', 'pending', 'on_failure', 'backoff', 'streak', 'ended')
    if not r[1] then return end
    local failed = state == 'failed' or state == 'rejected'
    chronicle(id, 'ended', '', task, state)
    call('HSET', schedule_of(id), 'streak', failed and r[7] + 1 or 0)
    if r[3] ~= task then return end              -- it has fired again meanwhile
    local same = r[1] == generation              -- else it was set anew meanwhile: what ran has no say in it
    if same and reason == 'unset-schedule' then return forget_schedule(id) end
    if same and reason == 'stop-schedule' then return stop_schedule(id, 'its handler stopped it') end
    if same and failed and r[5] == 'stop' then return stop_schedule(id, 'its task ' .. state) end
    if r[4] ~= '' then
      call('HSET', schedule_of(id), 'released', '1')
      index_schedule(id)
    elseif same and string.sub(r[2], 1, 8) == 'continue' and r[8] == '' then
      go_on(id, NOW + (backoff or tonumber(r[6])))
    end
  end

  return {hash = schedule_of, chronicle = chronicle, index = index_schedule, belong = belong, forget = forget_schedule,
    pause = pause_schedule, fire_ended = fire_ended, catch_up = catch_up}
end
