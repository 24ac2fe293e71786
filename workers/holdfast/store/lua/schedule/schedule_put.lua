-- Set a schedule: make it, or change the one of this id. A paused schedule stays paused.
-- KEYS: the public queue.
-- ARGV: id, again (1: a schedule that has ended begins anew), expected (ms, '' for never), due (ms, '' for never), the moment at which this
--       worker declared it first (ms; '' if it does so now), then fields with values. The first field is `spec`: two definitions with the
--       same spec are the same, whoever owns them. `declared` '1': code declares it.
-- Answers: {new, changed or same; generation; expected}. Or nothing has changed, and the first word is foreign: another application
--          owns the schedule, and a live worker of that one declares it; or later: another worker of the same application has declared it
--          after this one did first.
-- Keeps: one schedule for each id; a fire of an earlier generation is refused. A declared schedule gets the owner that declares it. A
--        worker that asks again because its schedule was foreign does not undo what a later worker declares.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: schedules catalogs task_control clock task_record damage
local id, again, expected, due, asked = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local schedules = scheduling()
local key = schedules.hash(id)
if schedules.is_damaged(id) then call('UNLINK', key) end   -- the schedule is set again, which repairs its record
local given = {}
for i = 6, #ARGV, 2 do given[ARGV[i]] = ARGV[i + 1] end
local r = call('HMGET', key, 'generation', 'spec', 'expected', 'task', 'ended', 'owner', 'declared', 'asked')
if not whole(r[1]) then r[1], r[2], r[7] = false, false, false end   -- the schedule is new, or its record is damaged
local owner, declares = r[6] or '', given.declared == '1'

if declares and r[7] == '1' then
  local others = owner ~= '' and owner ~= given.owner
  if others and catalogs().is_declared(id, owner) then return {'foreign', tonumber(r[1]), r[3]} end
  if not others and asked ~= '' and tonumber(asked) < (tonumber(r[8] or '') or 0) then return {'later', tonumber(r[1]), r[3]} end
end
local since = asked ~= '' and asked or NOW   -- the worker that declared it last decides
local over = r[5] and r[5] ~= ''
if r[2] == given.spec and not (again == '1' and over) then
  local stays = owner == given.owner or given.owner == ''
  if declares and not (r[7] == '1' and stays) then schedules.adopt(id, owner, given.owner, since) end
  return {'same', tonumber(r[1]), r[3]}
end

local generation = (r[1] or 0) + 1
call('HSET', key, 'generation', generation, 'expected', expected, 'due', due, 'fires', 0, 'pending', '', 'released', '',
  'ended', expected == '' and 'stopped' or '', 'streak', 0, 'updated', NOW, 'asked', declares and since or '', unpack(ARGV, 6))
if not r[1] then call('HSET', key, 'created', NOW, 'paused', '', 'until', '', 'task', '') end
schedules.belong(id, owner, given.owner)
schedules.mark(id, given.declared)
schedules.index(id)
schedules.chronicle(id, 'set', expected, '', '')
-- A schedule that ends cancels a fire that still waits in its lane.
local state = expected == '' and r[4] and r[4] ~= '' and read(r[4], 'state')[1]
if state == 'submitted' or state == 'delayed' then each_task(r[4], nil, nil, cancel, 'its schedule was stopped') end
return {r[1] and 'changed' or 'new', generation, expected}
