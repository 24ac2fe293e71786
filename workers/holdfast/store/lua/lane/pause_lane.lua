-- Pause a lane: no host starts a task from it until it is resumed. The lane still accepts tasks, and running tasks go on.
-- KEYS: the public queue. ARGV: lane, reason.
-- Answers: paused; or again: it was paused before. It then gets the new reason, and keeps the time of the first pause.
-- flags: allow-oom
-- use: claims_ahead bound_changes clock journal
local lane, reason = ARGV[1], ARGV[2]
local known = call('HGET', KEY.rules, 'paused:' .. lane)
bounding().close(lane, (known and string.match(known, '^%d+') or NOW) .. ' ' .. reason)
ask_back(lane)   -- claimed tasks that have not begun come back
tell('lane-paused', lane, reason)
return known and 'again' or 'paused'
