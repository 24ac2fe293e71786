-- Try a webhook that waits now.
-- KEYS: the public queue. ARGV: name.
-- Answers: 1, or 0 where it is done.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
if not call('ZSCORE', box.index, ARGV[1]) then return 0 end
call('ZADD', box.index, NOW, ARGV[1])
box.wake_up()
return 1
