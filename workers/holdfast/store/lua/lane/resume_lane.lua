-- Let a paused lane go on.
-- KEYS: the public queue. ARGV: lane.
-- Answers: resumed, or running if it was not paused.
-- flags: allow-oom
-- use: bound_changes
return bounding().open(ARGV[1]) and 'resumed' or 'running'
