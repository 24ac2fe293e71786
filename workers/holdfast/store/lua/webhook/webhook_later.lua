-- Try a webhook again after a while, because it could not be delivered.
-- KEYS: the public queue. ARGV: name, after how long (ms).
-- Answers: 1, or 0 where it is done.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
return call('ZADD', box.index, 'XX', 'CH', NOW + ARGV[2], ARGV[1])
