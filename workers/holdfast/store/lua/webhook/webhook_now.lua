-- Try a webhook at once: one that waits, or one that was given up.
-- KEYS: the public queue. ARGV: name.
-- Answers: 1, or 0: it neither waits, nor is among the last ones that were given up.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
if not call('ZSCORE', box.index, ARGV[1]) then return box.take_back(ARGV[1]) and 1 or 0 end
local receiver = box.receiver_of_name(ARGV[1])
box.give_turn(receiver, 0, NOW)
box.plan(ARGV[1], receiver, NOW)
box.wake_up()
return 1
