-- Have a host, or all, claim nothing more until that is taken back, whatever starts anew meanwhile. What runs goes on to
-- its end, what is submitted waits, schedules fire.
-- KEYS: the public queue. ARGV: host (`*`: all), who says it, why.
-- Answers: {quiet, or again if it was said before (who and why are the new ones, since stays); workers of it}.
-- Keeps: I18: a worker is marked exactly if its host, or all, were told.
-- flags: allow-oom
-- use: hushing
local host, by, reason = unpack(ARGV)
local known = call('HGET', T .. 'quiet', host)
local since = known and string.match(known, '^%d+') or NOW
call('HSET', T .. 'quiet', host, since .. '\n' .. by .. '\n' .. reason)
if not known then tell('host-quiet', host, by .. ' ' .. reason) end
return {known and 'again' or 'quiet', mark_workers(host, true)}
