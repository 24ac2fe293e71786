-- Let the workers of a host, or of all hosts, claim again. Each order is ended by itself: for all hosts or for one, quiet or halt.
-- KEYS: the public queue. ARGV: mark (a host, `*` for all, or `halt ` and one of these), who gave the order to resume.
-- Answers: {resumed, or running: there was no such order; the number of its workers that claim now}.
-- Keeps: I18.
-- flags: allow-oom
-- use: hosts journal
local mark, by = unpack(ARGV)
local host, is_halt = mark_of(mark)
if call('HDEL', KEY.quiet, mark) == 0 then return {'running', mark_workers(host, false)} end
if is_halt then tell('host-halt-ended', host, by) else tell('host-resumed', host, by) end
return {'resumed', mark_workers(host, false)}
