-- The URL that hears of all tasks without one of their own; '' for none.
-- KEYS: the public queue. ARGV: URL.
-- flags: allow-oom
-- use: journal
if (call('HGET', T .. 'meta', 'webhook') or '') == ARGV[1] then return 0 end
tell('webhook-set', '')
if ARGV[1] == '' then return call('HDEL', T .. 'meta', 'webhook') end
return call('HSET', T .. 'meta', 'webhook', ARGV[1])
