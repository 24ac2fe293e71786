-- Make the fires of schedules: submit each task under the fire's id, note what became of it, and what is expected next.
-- KEYS: the public queue.
-- ARGV: a MessagePack list of orders: id, generation, seen, kind (due, waited, extra), good from, good until, expected,
--       due, first missed, last missed, why missed, fires; a fire: scheduled at, task id, message id, digest, operation, lane, name,
--       max attempts, timeout, 1 if it is known that its task was made; '' where there is none.
-- Answers: per order fired, stale (decided for another moment), paused, changed (it is not as it was seen), gone, or
--       no-list: the key of its lane holds something else, so it is paused.
-- Keeps: a fire is made once, however many stewards try; none of an earlier generation, none of a paused schedule.
-- Refused when out of memory, before anything is written: the fire is late then, not lost.
-- flags:
-- use: schedules messages task_control lane
local schedules = scheduling()

local function submit(id, generation, fire)
  local at, task, message, digest, operation, lane, name, attempts, timeout, made = unpack(fire)
  if made == '1' or call('EXISTS', T .. 'task:' .. task) == 1 then return false end
  create(task, lane, operation, message, digest, 'schedule', 0)
  local fields = {'schedule', id, 'generation', generation}
  local function add(field, value)
    if value ~= '' then fields[#fields + 1], fields[#fields + 2] = field, value end
  end
  add('name', name)
  add('max_attempts', attempts)
  add('timeout', timeout)
  write(task, unpack(fields))
  to_tail(task)
  return true
end

-- The task of the last fire, if it has not ended.
local function busy(task)
  local state = task ~= '' and read(task, 'state')[1]
  return state and not TERMINAL[state] and task
end

-- `last`: the task of the fire before. Answers that of the last one now.
local function make(id, generation, overlap, last, fire)
  local before, at = busy(last), fire[1]
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
  if before and overlap == 'replace' then cancel(before, 'replaced by the next fire of its schedule') end
  call('HSET', schedules.hash(id), 'task', fire[2], 'last', at)
  local new = submit(id, generation, fire)
  schedules.chronicle(id, new and 'fired' or 'skipped', at, fire[2], new and string.format('%d ms late', NOW - tonumber(at)) or 'made before')
  return fire[2]
end

local function obey(order)
  local id, generation, seen, kind, from, till, expected, due, first, last, why, fires = unpack(order)
  local r = call('HMGET', schedules.hash(id), 'generation', 'expected', 'paused', 'pending', 'overlap', 'task', 'fires', 'released')
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
  -- Skipped ones count as well.
  if kind == 'due' then call('HSET', schedules.hash(id), 'expected', expected, 'due', due, 'fires', r[7] + #fires) end
  if first ~= '' then schedules.chronicle(id, 'missed', first, '', last .. ' ' .. why) end
  local task = r[6]
  local continues = kind == 'due' and expected == '' and string.sub(call('HGET', schedules.hash(id), 'cadence'), 1, 8) == 'continue'
  -- A CONTINUE that was skipped would have no run to go on after: it waits for what an earlier definition started.
  local overlap = continues and r[5] == 'forbid' and 'queue-one' or r[5]
  for _, fire in ipairs(fires) do task = make(id, r[1], overlap, task, fire) end
  if kind == 'due' and expected ~= '' and r[8] ~= '1' then   -- later than it was: nobody needs to be told
    call('ZADD', T .. 'schedules', due, id)
    return 'fired'
  end
  if kind == 'due' and expected == '' then
    if continues then
      schedules.catch_up(id)   -- if its task was made and has ended before
    else
      call('HSET', schedules.hash(id), 'ended', 'it has fired for the last time')
    end
  end
  schedules.index(id)
  return 'fired'
end

local answers = {}
for i, order in ipairs(cmsgpack.unpack(ARGV[1])) do answers[i] = obey(order) end
return answers
