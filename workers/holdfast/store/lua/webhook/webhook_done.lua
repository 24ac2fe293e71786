-- Remove a webhook that was delivered, or that nobody tries any more.
-- KEYS: the public queue. ARGV: name, the reason to give up ('' if it was delivered), the moment of what was delivered ('' for any).
-- Answers: 1, or 0 where it was done before.
-- Keeps: the latest progress of a task is delivered, also if it came while an earlier one was sent.
-- flags: allow-oom
-- use: webhook_outbox journal task_record amendments
local box = outbox()
local task = string.match(ARGV[1], '^[^|]*')   -- of its name: the record may be unreadable
if not box.try_later_one(ARGV[1], ARGV[3]) and not box.drop(ARGV[1]) then return 0 end
if TERMINAL[read(task, 'state')[1]] then amend(task) end
count(ARGV[2] == '' and 'webhooks' or 'webhooks-dropped')
if ARGV[2] == '' then tell('webhook-told', task) else tell('webhook-dropped', task, ARGV[2]) end
return 1
