-- Try a webhook that waits now.
-- KEYS: the public queue. ARGV: name.
-- Answers: 1, or 0 where it is done.
-- flags: allow-oom
-- use: clock
if not call('ZSCORE', KEY.webhooks, ARGV[1]) then return 0 end
call('ZADD', KEY.webhooks, NOW, ARGV[1])
if call('LLEN', KEY.webhooks_control) == 0 then call('RPUSH', KEY.webhooks_control, 'due') end
return 1
