-- Set the webhook of one task, if the task still has the URL that the caller knows. Notices that wait for this URL are then sent to the new
-- one.
-- KEYS: the public queue. ARGV: task id, the URL that the caller knows ('' for none), the new URL ('' for none).
-- Answers: set; other: the task has another URL, and keeps it; or unknown.
-- Keeps: a URL that somebody else has set is not lost. Nothing more is sent to a URL that was taken away.
-- flags: allow-oom
-- use: task_record webhook_outbox journal amendments
local id, known, url = unpack(ARGV)
local r = read(id, 'state', 'webhook')
if not r[1] then return 'unknown' end
if (r[2] or '') ~= known then return 'other' end
if url == '' then call('HDEL', KEY.task .. id, 'webhook') else write(id, 'webhook', url) end
if known ~= '' then outbox().move(id, known, url) end
if TERMINAL[r[1]] then amend(id) end
tell('webhook-moved', id)   -- after this event a ledger reads the task again
return 'set'
