-- Set the queue's webhook: the URL for all tasks without one of their own.
-- KEYS: the public queue. ARGV: URL ('' for none).
-- flags: allow-oom
-- use: journal
if (call('HGET', KEY.meta, 'webhook') or '') == ARGV[1] then return 0 end
tell('webhook-set', '')
if ARGV[1] == '' then return call('HDEL', KEY.meta, 'webhook') end
return call('HSET', KEY.meta, 'webhook', ARGV[1])
