-- Resume a paused schedule at its next expected moment. Fires that it missed during the pause are not made.
-- KEYS: the public queue. ARGV: id, the generation that the caller has seen, expected (ms, ''), due (ms, '').
-- Answers: resumed; running: it was not paused; changed; unknown; or damaged: its record cannot be read.
-- flags: allow-oom
-- use: schedules damage
local schedules, id = scheduling(), ARGV[1]
if schedules.is_damaged(id) then return 'damaged' end
local r = call('HMGET', schedules.hash(id), 'generation', 'paused', 'ended')
if not r[1] then return 'unknown' end
if r[2] == '' then return 'running' end
if r[1] ~= ARGV[2] then return 'changed' end
call('HSET', schedules.hash(id), 'paused', '', 'until', '')
if r[3] == '' and ARGV[3] ~= '' then call('HSET', schedules.hash(id), 'expected', ARGV[3], 'due', ARGV[4]) end
if not attempt(schedules.index, id) then return 'damaged' end
schedules.chronicle(id, 'resumed', ARGV[3], '', '')
return 'resumed'
