-- Try a waiting webhook at once.
-- KEYS: the public queue. ARGV: name.
-- Answers: 1, or 0: it is no longer in the outbox.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
if not call('ZSCORE', box.index, ARGV[1]) then return 0 end
local receiver = box.receiver_of_name(ARGV[1])
box.give_turn(receiver, 0, NOW)
box.plan(ARGV[1], receiver, NOW)
box.wake_up()
return 1
