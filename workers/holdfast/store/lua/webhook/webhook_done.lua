-- Remove a webhook from the outbox: it was delivered, or is given up.
-- KEYS: the public queue. ARGV: name, the reason to give up ('' if it was delivered), the moment of the delivered progress ('' for any).
-- Answers: 1, or 0: it was removed before.
-- Keeps: the latest progress of a task is delivered, also if it came while an earlier one was sent.
-- flags: allow-oom
-- use: webhook_outbox journal task_record amendments
local box = outbox()
local task = string.match(ARGV[1], '^[^|]*')   -- from its name, because the record may be unreadable
if not box.try_later_one(ARGV[1], ARGV[3]) and not box.drop(ARGV[1], ARGV[2] ~= '' and ARGV[2] or nil) then return 0 end
if TERMINAL[read(task, 'state')[1]] then amend(task) end
count(ARGV[2] == '' and 'webhooks' or 'webhooks-dropped')
if ARGV[2] == '' then tell('webhook-told', task) else tell('webhook-dropped', task, ARGV[2]) end
return 1
