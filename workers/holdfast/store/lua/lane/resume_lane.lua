-- Resume a paused lane.
-- KEYS: the public queue. ARGV: lane.
-- Answers: resumed; or running: it was not paused.
-- flags: allow-oom
-- use: bound_changes
return bounding().open(ARGV[1]) and 'resumed' or 'running'
