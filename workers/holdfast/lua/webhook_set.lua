-- The URL that hears of all tasks without one of their own; '' for none.
-- KEYS: the public queue. ARGV: URL.
-- flags: allow-oom
-- use: clock
if ARGV[1] == '' then return call('HDEL', T .. 'meta', 'webhook') end
return call('HSET', T .. 'meta', 'webhook', ARGV[1])
