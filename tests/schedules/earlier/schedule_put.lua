-- Set a schedule: a new one, or what an id of this name means from now on. It stays paused if it was.
-- KEYS: the public queue.
-- ARGV: id, again (1: one that has ended begins anew), expected (ms, '' for never), due (ms, ''), then fields with values;
--       the first field is `spec`, by which two definitions are the same.
-- Answers: {new, changed or same; generation; expected}.
-- Keeps: one schedule an id; a fire of an earlier generation is refused.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: schedules task_control
local id, again, expected, due = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local schedules = scheduling()
local key = schedules.hash(id)
local r = call('HMGET', key, 'generation', 'spec', 'expected', 'task', 'ended', 'owner')
local over = r[5] and r[5] ~= ''
if r[2] == ARGV[6] and not (again == '1' and over) then return {'same', tonumber(r[1]), r[3]} end

local generation = (r[1] or 0) + 1
call('HSET', key, 'generation', generation, 'expected', expected, 'due', due, 'fires', 0, 'pending', '', 'released', '',
  'ended', expected == '' and 'stopped' or '', 'streak', 0, 'updated', NOW, unpack(ARGV, 5))
if not r[1] then call('HSET', key, 'created', NOW, 'paused', '', 'until', '', 'task', '') end
schedules.belong(id, r[6], call('HGET', key, 'owner'))
schedules.index(id)
schedules.chronicle(id, 'set', expected, '', '')
-- What was to stop does not begin: a fire that still waits in its lane is taken back.
local state = expected == '' and r[4] and r[4] ~= '' and read(r[4], 'state')[1]
if state == 'submitted' or state == 'delayed' then cancel(r[4], 'its schedule was stopped') end
return {r[1] and 'changed' or 'new', generation, expected}
