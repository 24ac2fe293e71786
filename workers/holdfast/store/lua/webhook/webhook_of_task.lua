-- Set the webhook of one task, unless it has another one than the caller knows. What waits for the one that it had goes to the other.
-- KEYS: the public queue. ARGV: task id, the URL that the caller knows ('' for none), the URL ('' for none).
-- Answers: set, other (it has another one, which stays), or unknown.
-- Keeps: a webhook that somebody else has set is not lost; nothing is sent any more to one that was taken away.
-- flags: allow-oom
-- use: task_record webhook_outbox journal amendments
local id, known, url = unpack(ARGV)
local r = read(id, 'state', 'webhook')
if not r[1] then return 'unknown' end
if (r[2] or '') ~= known then return 'other' end
if url == '' then call('HDEL', KEY.task .. id, 'webhook') else write(id, 'webhook', url) end
if known ~= '' then outbox().move(id, known, url) end
if TERMINAL[r[1]] then amend(id) end
tell('webhook-moved', id)   -- a ledger reads the task again
return 'set'
