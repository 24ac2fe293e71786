-- Make the fires of schedules: submit each task under the fire's id, note what became of it, and what is expected next.
-- KEYS: the public queue.
-- ARGV: a MessagePack list of orders: id, generation, seen, kind (due, waited, extra), expected, due, first missed,
--       last missed, why missed, fires; a fire: scheduled at, task id, message id, digest, operation, lane, name,
--       max attempts, timeout; '' where there is none.
-- Answers: per order fired, paused, changed (it is not as it was seen) or gone.
-- Keeps: a fire is made once, however many stewards try; none of an earlier generation, none of a paused schedule.
-- Refused when out of memory, before anything is written: the fire is late then, not lost.
-- flags:
-- use: scheduling message control
local schedules = scheduling()

local function submit(id, generation, fire)
  local at, task, message, digest, operation, lane, name, attempts, timeout = unpack(fire)
  if call('EXISTS', T .. 'task:' .. task) == 1 then return false end
  create(task, lane, operation, message, digest, 'schedule', 0)
  write(task, 'schedule', id, 'generation', generation)
  if name ~= '' then write(task, 'name', name) end
  if attempts ~= '' then write(task, 'max_attempts', attempts) end
  if timeout ~= '' then write(task, 'timeout', timeout) end
  to_tail(task)
  return true
end

-- The task of the last fire, if it has not ended.
local function busy(id)
  local task = call('HGET', schedules.hash(id), 'task')
  local state = task ~= '' and read(task, 'state')[1]
  return state and not TERMINAL[state] and task
end

local function make(id, generation, overlap, fire)
  local before, at = busy(id), fire[1]
  if before and overlap == 'forbid' then return schedules.chronicle(id, 'skipped', at, before, 'the one before has not ended') end
  if before and overlap == 'queue-one' then
    if call('HGET', schedules.hash(id), 'pending') ~= '' then
      return schedules.chronicle(id, 'skipped', at, before, 'another waits for the one before')
    end
    call('HSET', schedules.hash(id), 'pending', at, 'released', '')
    return schedules.chronicle(id, 'waits', at, before)
  end
  if before and overlap == 'replace' then cancel(before, 'replaced by the next fire of its schedule') end
  call('HSET', schedules.hash(id), 'task', fire[2], 'last', at)
  local new = submit(id, generation, fire)
  schedules.chronicle(id, new and 'fired' or 'skipped', at, fire[2], new and string.format('%d ms late', NOW - tonumber(at)) or 'made before')
end

local function obey(order)
  local id, generation, seen, kind, expected, due, first, last, why, fires = unpack(order)
  local r = call('HMGET', schedules.hash(id), 'generation', 'expected', 'paused', 'pending', 'overlap')
  if not r[1] then return 'gone' end
  if kind ~= 'extra' and r[3] ~= '' then return 'paused' end
  if tonumber(r[1]) ~= generation then return 'changed' end
  if kind == 'due' and r[2] ~= seen then return 'changed' end
  if kind == 'waited' and r[4] ~= seen then return 'changed' end
  if kind == 'waited' then call('HSET', schedules.hash(id), 'pending', '', 'released', '') end
  if kind == 'due' then call('HSET', schedules.hash(id), 'expected', expected, 'due', due) end
  if first ~= '' then schedules.chronicle(id, 'missed', first, '', last .. ' ' .. why) end
  for _, fire in ipairs(fires) do make(id, r[1], r[5], fire) end
  if kind == 'due' then call('HINCRBY', schedules.hash(id), 'fires', #fires) end   -- skipped ones count as well
  if kind == 'due' and expected == '' and string.sub(call('HGET', schedules.hash(id), 'cadence'), 1, 8) ~= 'continue' then
    call('HSET', schedules.hash(id), 'ended', 'it has fired for the last time')
  end
  schedules.index(id)
  return 'fired'
end

local answers = {}
for i, order in ipairs(cmsgpack.unpack(ARGV[1])) do answers[i] = obey(order) end
return answers
