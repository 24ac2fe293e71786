-- use: task_record journal clock constants
-- provides: go_on_now scheduling
-- Schedules: the record of each, its history, and the index by which the steward finds what is due.
--
-- Rule 1. The scripts read no expression and compute no moment. The caller does (core/schedules.py), and sends the moment that it has
-- seen. The scripts compare it with the record, and write the next one.
-- Rule 2. `generation` counts how often the schedule was set. An order for an earlier generation changes nothing, and the end of a task
-- from an earlier one does not decide what happens next.
-- Rule 3. A fire is made once. Its task has the id of the fire, and the expected moment is moved after the task was made: after an error
-- in between the fire is made again, under the same id.
-- Rule 4. One schedule has one running task, unless `overlap` allows more. Only the store knows whether the last task has ended, so
-- `overlap` is decided here (schedule_fire.lua).
-- Rule 5. A damaged record is set aside: it is due no more until the schedule is set again. The other schedules go on.
--
-- Theory of operation. A schedule is a hash. One sorted set has the ids of all, by the moment at which something is to be done about them:
-- a fire, or the end of a pause; +inf means never. `index_schedule` writes that moment after each change, and wakes the steward if the
-- schedule is now the first. `fire_ended` is called when the task of a fire has ended: it releases a fire that waited for that end, and
-- moves a CONTINUE schedule on.
--
-- Warning. An id may contain colons. So the id is the last part of every key, and no two kinds of keys begin alike.
local go_on_now = {}   -- ids of the CONTINUE schedules that fire at once, because their task has ended in this call
-- The functions are defined inside one function, because few tasks are fires, and each function of a script costs every call of it.
local function scheduling()
  local HISTORY_KEPT = 100

  local function schedule_of(id) return KEY.schedule .. id end

  local function history_of(id) return KEY.fires .. id end

  -- The last lines of a schedule's history, the newest last.
  local function lines_of(id, limit)
    local lines = redis.pcall('LRANGE', history_of(id), -limit, -1)
    return lines.err and {} or lines
  end

  -- Some fields, as HMGET answers them; no fields if the key holds another type, which must not stop the other schedules.
  local function fields_of(id, ...)
    local r = redis.pcall('HMGET', schedule_of(id), ...)
    return r.err and {} or r
  end

  -- True if the key of the record holds another type.
  local function is_damaged(id) return type(redis.pcall('HLEN', schedule_of(id))) ~= 'number' end

  local function all_fields_of(id)
    local r = redis.pcall('HGETALL', schedule_of(id))
    return r.err and {} or r
  end

  local function chronicle(id, what, scheduled_at, task, detail)
    local history = history_of(id)
    local line = NOW .. '|' .. what .. '|' .. scheduled_at .. '|' .. task .. '|' .. (detail or '')
    local length = redis.pcall('RPUSH', history, line)
    if type(length) ~= 'number' then   -- the key holds another type, which another program wrote
      call('UNLINK', history)
      length = call('RPUSH', history, line)
    end
    if length > HISTORY_KEPT then call('LTRIM', history, -HISTORY_KEPT, -1) end
    tell('schedule-' .. what, id, scheduled_at .. ' ' .. task .. ' ' .. (detail or ''))
  end

  -- Writes when something is to be done about the schedule. The steward sleeps until the earliest such moment, and is woken if that has
  -- changed.
  local function index_schedule(id)
    local r = call('HMGET', schedule_of(id), 'due', 'paused', 'until', 'pending', 'released')
    local at = r[1]
    if r[2] ~= '' then at = r[3] elseif r[4] ~= '' and r[5] == '1' then at = NOW end
    call('ZADD', KEY.schedules, at ~= '' and at or '+inf', id)
    local alarm = KEY.schedules_control
    if at ~= '' and call('ZRANK', KEY.schedules, id) == 0 and call('LLEN', alarm) == 0 then call('RPUSH', alarm, 'due') end
  end

  local function owned_by(owner)
    local key = KEY.owner .. owner
    if type(redis.pcall('ZCARD', key)) ~= 'number' then call('UNLINK', key) end
    return key
  end

  -- Moves a schedule from one owner's index to another's. The index lets an owner find its schedules without a look at all. A key of
  -- another type is removed, because only scripts write there.
  local function belong(id, before, owner)
    if before == owner then return end
    if before and before ~= '' then call('ZREM', owned_by(before), id) end
    if owner ~= '' then call('ZADD', owned_by(owner), 0, id) end
  end

  local function owner_of(id) return fields_of(id, 'owner')[1] or '' end

  -- Notes whether code declares the schedule. `declared`: '1' if it does.
  local function mark(id, declared) call(declared == '1' and 'SADD' or 'SREM', KEY.declared, id) end

  -- Gives the unchanged schedule to the application whose code declares it now. `asked`: when its worker first did so (ms).
  local function adopt(id, before, owner, asked)
    call('HSET', schedule_of(id), 'owner', owner, 'declared', '1', 'asked', asked)
    belong(id, before, owner)
    mark(id, '1')
    tell('schedule-owned', id, owner)
  end

  local function forget_schedule(id, why)
    belong(id, owner_of(id), '')
    mark(id, '')
    if call('UNLINK', schedule_of(id), history_of(id)) > 0 then tell('schedule-removed', id, why) end
    call('ZREM', KEY.schedules, id)
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

  -- True if the limit and end of the schedule allow one more fire at this moment.
  local function may_go_on(id, at)
    local r = call('HMGET', schedule_of(id), 'fires', 'limit', 'end')
    return (r[2] == '' or tonumber(r[1]) < tonumber(r[2])) and (r[3] == '' or at <= tonumber(r[3]))
  end

  -- Notes that the schedule fires at once: in this millisecond, or in the next one if this one has had a fire of it.
  local function note_going_on(id, at)
    local now = at <= NOW + 1 and call('HGET', schedule_of(id), 'paused') == ''
    if now and #go_on_now < GO_ON_AT_ONCE then go_on_now[#go_on_now + 1] = id end
  end

  -- Sets the next fire of a CONTINUE schedule, counted from the end of the last run.
  local function go_on(id, asked)
    -- Two fires never have the same moment, however short a run is: the id of a task is made from the moment.
    local at = math.max(asked, 1 + (tonumber(call('HGET', schedule_of(id), 'last') or nil) or 0))
    if not may_go_on(id, at) then return stop_schedule(id, 'it has fired for the last time') end
    call('HSET', schedule_of(id), 'expected', at, 'due', at)
    index_schedule(id)
    note_going_on(id, at)
  end

  -- Releases the fire that has waited for the end of the last task. `r`: the fields pending, cadence, expected, ended and backoff.
  local function release(id, r)
    if r[1] ~= '' then
      call('HSET', schedule_of(id), 'released', '1')
      index_schedule(id)
    elseif string.sub(r[2], 1, 8) == 'continue' and r[3] == '' and r[4] == '' then
      go_on(id, NOW + r[5])
    end
  end

  -- Continues a schedule if this Redis may have lost the end of its last task, because nothing would wait for that end any longer.
  local function catch_up(id)
    local r = call('HMGET', schedule_of(id), 'pending', 'cadence', 'expected', 'ended', 'backoff', 'task')
    local state = r[6] ~= '' and read(r[6], 'state')[1]
    if r[6] == '' or (state and not TERMINAL[state]) then return end
    release(id, r)
  end

  -- Continues a schedule whose last task was set aside, because this task may never end.
  local function go_on_without(id, task)
    local r = fields_of(id, 'pending', 'cadence', 'expected', 'ended', 'backoff', 'task')
    if r[6] == task then release(id, r) end
  end

  -- Sets a schedule aside whose record cannot be used. It is not due until it is set again.
  local function set_schedule_aside(id, flaw)
    call('ZADD', KEY.schedules, 'XX', '+inf', id)
    set_aside('the record of schedule ' .. id .. ' cannot be read: ' .. flaw, id, QUEUE)
  end

  -- Updates a schedule when the task of a fire has ended. `backoff`: the wait that the handler asked for (ms), or nil.
  local function fire_ended(id, generation, task, state, reason, backoff)
    local r = fields_of(id, 'generation', 'cadence', 'task', 'pending', 'on_failure', 'backoff', 'streak', 'ended')
    if not r[1] then return end
    local failed = state == 'failed' or state == 'rejected'
    chronicle(id, 'ended', '', task, state)
    call('HSET', schedule_of(id), 'streak', failed and r[7] + 1 or 0, 'outcome', NOW .. ' ' .. state .. ' ' .. task)
    if r[3] ~= task then return end              -- the schedule has fired again meanwhile
    local same = r[1] == generation              -- false: the schedule was set again meanwhile, so the end of this task decides nothing
    if same and reason == 'unset-schedule' then return forget_schedule(id) end
    if same and reason == 'stop-schedule' then return stop_schedule(id, 'its handler stopped it') end
    if same and failed and r[5] == 'stop' then return stop_schedule(id, 'its task ' .. state) end
    if r[4] ~= '' then
      call('HSET', schedule_of(id), 'released', '1')
      index_schedule(id)
      note_going_on(id, NOW)
    elseif same and string.sub(r[2], 1, 8) == 'continue' and r[8] == '' then
      go_on(id, NOW + (backoff or tonumber(r[6])))
    end
  end

  return {hash = schedule_of, fields = fields_of, is_damaged = is_damaged, all_fields = all_fields_of, lines = lines_of, chronicle = chronicle, index = index_schedule, belong = belong, mark = mark, adopt = adopt, owner = owner_of, forget = forget_schedule,
    pause = pause_schedule, set_aside = set_schedule_aside, fire_ended = fire_ended, catch_up = catch_up, go_on_without = go_on_without}
end
