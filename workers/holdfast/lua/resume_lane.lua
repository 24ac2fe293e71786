-- Let a paused lane go on.
-- KEYS: the public queue. ARGV: lane.
-- Answers: resumed, or running if it was not paused.
-- flags: allow-oom
-- use: gates
local lane = ARGV[1]
if call('HDEL', T .. 'rules', 'paused:' .. lane) == 0 then return 'running' end
tell('lane-resumed', lane)
bounds().reopen(lane)
return 'resumed'
