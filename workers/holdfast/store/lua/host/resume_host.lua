-- Let a host, or all hosts, claim again. Each mark is removed by itself: of all hosts, of one, quiet, halt.
-- KEYS: the public queue. ARGV: mark (a host, `*` for all, or `halt ` and one of these), the order's author.
-- Answers: {resumed, or running if there was no such mark; workers of it that claim now}.
-- Keeps: I18.
-- flags: allow-oom
-- use: hosts journal
local mark, by = unpack(ARGV)
local host, is_halt = mark_of(mark)
if call('HDEL', KEY.quiet, mark) == 0 then return {'running', mark_workers(host, false)} end
if is_halt then tell('host-halt-ended', host, by) else tell('host-resumed', host, by) end
return {'resumed', mark_workers(host, false)}
