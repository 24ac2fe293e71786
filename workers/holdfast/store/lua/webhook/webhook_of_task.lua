-- Set the webhook of one task, unless it has another one than the caller knows.
-- KEYS: the public queue. ARGV: task id, the URL that the caller knows ('' for none), the URL ('' for none).
-- Answers: set, other (it has another one, which stays), or unknown.
-- Keeps: a webhook that somebody else has set is not lost.
-- flags: allow-oom
-- use: task_record
local id, known, url = unpack(ARGV)
local r = read(id, 'state', 'webhook')
if not r[1] then return 'unknown' end
if (r[2] or '') ~= known then return 'other' end
if url == '' then call('HDEL', KEY.task .. id, 'webhook') else write(id, 'webhook', url) end
return 'set'
