-- Try a webhook again after a while, because it could not be delivered.
-- KEYS: the public queue. ARGV: name, after how long (ms), 1 if nothing was sent, so that this does not count as a try; why the try has
--       failed ('' if nothing was sent).
-- Answers: 1, or 0: it is no longer in the outbox.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
local name = ARGV[1]
if not call('ZSCORE', box.index, name) then return 0 end
if ARGV[3] == '1' then redis.pcall('HINCRBY', box.hash(name), 'tries', -1) end
if ARGV[4] ~= '' then redis.pcall('HSET', box.hash(name), 'why', ARGV[4]) end   -- pcall, because the record may be damaged
box.plan(name, box.receiver_of_name(name), NOW + ARGV[2])
return 1
