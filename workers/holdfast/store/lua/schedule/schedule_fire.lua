-- Make the fires of schedules: submit each task under the fire's id, note the outcome, and set the next expected moment.
-- KEYS: the public queue.
-- ARGV: a MessagePack list of orders; the host of the caller ('' for a caller that no halt stops); the last halt that this caller ignores.
--       An order: id, generation, the moment seen, kind (due, waited, extra), good from, good until, the next moment, when that one is due,
--       first missed, last missed, why missed, fires.
--       A fire: scheduled at, task id, message id, digest, operation, lane, name, most attempts, timeout, 1 if a ledger knows its task,
--       concurrency key, webhook, expires in (ms), unique key, unique for (ms; '': until the task has ended). A missing value is ''.
-- Answers: for each order fired; stale: the order was decided for another moment; paused; changed: the schedule has another generation or
--       moment; gone; no-list: the key of its lane holds no list, so the schedule is now paused; or halted: this host is to make no fires.
-- Keeps: a fire is made once, however many stewards try. No fire is made of an earlier generation or of a paused schedule.
-- Refused when out of memory, before anything is written: the fire is then late, not lost.
-- flags:
-- use: unique_keys expiry schedules messages task_control lane hosts clock task_record damage
local schedules = scheduling()

-- True if the task of this fire was made before.
local function was_made(fire)
  return (fire[10] == '1' or call('EXISTS', KEY.task .. fire[2]) == 1) and not unmake(fire[2])
end

local function submit(task, id, generation, fire)
  local at, _, message, digest, operation, lane, name, attempts, timeout, _, key, webhook, expires_in, only, only_for = unpack(fire)
  create(task, lane, operation, message, digest, 'schedule', 0)
  local fields = {'schedule', id, 'generation', generation}
  local function add(field, value)
    if value ~= '' then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  add('name', name)
  add('max_attempts', attempts)
  add('timeout', timeout)
  add('concurrency_key', key)
  add('webhook', webhook)
  write(task, unpack(fields))
  if expires_in ~= '' then expiry().set(task, NOW + expires_in) end
  if only ~= '' then unique().hold(task, only, only_for) end
  to_tail(task)
end

-- The task of the last fire if it has not ended; else nil. A damaged task that nobody runs may never end, so it is set aside.
local function busy(task)
  local state = task ~= '' and read(task, 'state')[1]
  if state == false or TERMINAL[state] then return end
  local flaw = flaw_of(task)
  if not flaw or is_held(task) then return task end
  set_task_aside(task, flaw)
end

-- True if the holder of a fire's unique key does not prevent the fire: the fire replaces this task, or the task was set aside as damaged
-- (see busy). A task that has ended may still hold its key for a time.
local function gives_way(holder, last, before, overlap)
  if holder == before then return overlap == 'replace' end
  local state = holder == last and read(holder, 'state')[1]
  return state and not TERMINAL[state]
end

-- Makes one fire. `last`: the task of the fire before it. Answers the last task after this call. If the fire was made before, nothing else
-- is done, because `last` may be its own task.
local function make(id, generation, overlap, last, fire)
  local at, task, only, made = fire[1], fire[2], fire[14], was_made(fire)
  local before = not made and busy(last)
  if before and overlap == 'forbid' then schedules.chronicle(id, 'skipped', at, before, 'the one before has not ended') return last end
  if before and overlap == 'queue-one' then
    if call('HGET', schedules.hash(id), 'pending') ~= '' then
      schedules.chronicle(id, 'skipped', at, before, 'another waits for the one before')
    else
      call('HSET', schedules.hash(id), 'pending', at, 'released', '')
      schedules.chronicle(id, 'waits', at, before)
    end
    return last
  end
  local holder = not made and only ~= '' and unique().holder(only)
  if holder and holder ~= task and not gives_way(holder, last, before, overlap) then
    schedules.chronicle(id, 'skipped', at, holder, 'its unique key is held by this task')
    return last
  end
  -- After the look at the unique key, because a skipped fire must end no work. `submit` takes the key over, whatever state the earlier task
  -- has.
  if before and overlap == 'replace' then each_task(before, nil, nil, cancel, 'replaced by the next fire of its schedule') end
  call('HSET', schedules.hash(id), 'task', task, 'last', at)
  if not made then each_task(task, fire[6], nil, submit, id, generation, fire) end
  local detail = made and 'made before' or string.format('%d ms late', NOW - tonumber(at))
  schedules.chronicle(id, made and 'skipped' or 'fired', at, task, detail)
  return task
end

local function obey(order)
  local id, generation, seen, kind, from, till, expected, due, first, last, why, fires = unpack(order)
  local r = schedules.fields(id, 'generation', 'expected', 'paused', 'pending', 'overlap', 'task', 'fires', 'released')
  if not r[1] then return 'gone' end
  if kind ~= 'extra' and r[3] ~= '' then return 'paused' end
  if tonumber(r[1]) ~= generation then return 'changed' end
  if kind == 'due' and r[2] ~= seen then return 'changed' end
  if kind == 'waited' and r[4] ~= seen then return 'changed' end
  if NOW < from or NOW > till then return 'stale' end
  if fires[1] and not is_list(fires[1][6]) then
    if kind ~= 'extra' then schedules.pause(id, 'cannot be fired: the key of its lane is no list', '') end
    return 'no-list'
  end
  if kind == 'waited' then call('HSET', schedules.hash(id), 'pending', '', 'released', '') end
  local fired = kind == 'due' and r[7] + #fires   -- skipped fires count as well
  if first ~= '' then schedules.chronicle(id, 'missed', first, '', last .. ' ' .. why) end
  local task = r[6]
  local continues = kind == 'due' and expected == '' and string.sub(call('HGET', schedules.hash(id), 'cadence'), 1, 8) == 'continue'
  -- A skipped fire of a CONTINUE schedule would have no run whose end continues it. So it waits for the run that an earlier definition
  -- started.
  local overlap = continues and r[5] == 'forbid' and 'queue-one' or r[5]
  for _, fire in ipairs(fires) do task = make(id, r[1], overlap, task, fire) end
  -- After the fires. If an error comes before this, they are made again, and each task is made once.
  if kind == 'due' then call('HSET', schedules.hash(id), 'expected', expected, 'due', due, 'fires', fired) end
  if kind == 'due' and expected ~= '' and r[4] == '' then   -- the next moment is later than the last one, so nobody has to be woken
    call('ZADD', KEY.schedules, due, id)
    return 'fired'
  end
  if kind == 'due' and expected == '' then
    if continues then
      schedules.catch_up(id)   -- in case its task was made before and has ended
    else
      call('HSET', schedules.hash(id), 'ended', 'it has fired for the last time')
    end
  end
  schedules.index(id)
  return 'fired'
end

local answers = {}
local halted = (ARGV[2] or '') ~= '' and is_halted(ARGV[2], ARGV[3])
for i, order in ipairs(cmsgpack.unpack(ARGV[1])) do
  local went, word = true, 'halted'
  if not halted then went, word = attempt(obey, order) end
  if not went then schedules.set_aside(order[1], word) end
  answers[i] = went and word or 'gone'
end
return answers
