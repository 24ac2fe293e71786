-- Ring a lane's bell if it holds entries (for producers that only RPUSH).
-- KEYS: the public queue. ARGV: lane.
-- Answers: entries in the lane.
-- flags: allow-oom
-- use: lane
local waiting = call('LLEN', list_of(ARGV[1]))
if waiting > 0 then ring(ARGV[1]) end
return waiting
