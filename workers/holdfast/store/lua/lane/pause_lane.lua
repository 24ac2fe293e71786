-- Start nothing more from a lane until it is resumed, on any host; it still accepts. Running tasks go on.
-- KEYS: the public queue. ARGV: lane, reason.
-- Answers: paused, or again if it was paused before (its reason is the new one, its time stays).
-- flags: allow-oom
-- use: claims_ahead bound_changes clock journal
local lane, reason = ARGV[1], ARGV[2]
local known = call('HGET', KEY.rules, 'paused:' .. lane)
bounding().close(lane, (known and string.match(known, '^%d+') or NOW) .. ' ' .. reason)
ask_back(lane)   -- what has not begun does not begin
tell('lane-paused', lane, reason)
return known and 'again' or 'paused'
