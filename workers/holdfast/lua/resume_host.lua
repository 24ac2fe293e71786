-- Let a host, or all, claim again. Where both were told to be quiet, each word is taken back by itself.
-- KEYS: the public queue. ARGV: host (`*`: all), who says it.
-- Answers: {resumed, or running if it was not quiet; workers of it that claim now}.
-- Keeps: I18.
-- flags: allow-oom
-- use: hushing
if call('HDEL', T .. 'quiet', ARGV[1]) == 0 then return {'running', mark_workers(ARGV[1], false)} end
tell('host-resumed', ARGV[1], ARGV[2])
return {'resumed', mark_workers(ARGV[1], false)}
