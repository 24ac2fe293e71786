-- Do what is due: submit delayed tasks, end expired ones, tell children that their parents have ended, set aside messages of tasks that
-- have ended, join waiting messages to the turns that they continue, ring the bells of lanes whose rate allows a start again.
-- KEYS: the public queue. ARGV: limit.
-- Answers: {how many delayed tasks were submitted, ms until something is due (-1: nothing is)}.
-- Keeps: I3.
-- flags: allow-oom
-- use: promotion lane_alarms clock
call('DEL', KEY.steward_control)
if call('EXISTS', KEY.due, KEY.agenda, KEY.alarms, KEY.leftover, KEY.joining) == 0 then return {0, -1} end
local promoted = promote(tonumber(ARGV[1]))
sound_alarms()
if call('EXISTS', KEY.leftover, KEY.joining) > 0 then return {promoted, 0} end
local function first(index) return tonumber(call('ZRANGE', T .. index, 0, 0, 'WITHSCORES')[2] or 'inf') end
local wait = math.min(first(NAME.due), first(NAME.agenda), first(NAME.alarms)) - NOW
return {promoted, wait < math.huge and math.max(0, wait) or -1}
