-- The ids of all tasks, or of those whose ids begin with a text, page by page through all keys.
-- KEYS: the public queue. ARGV: cursor (0 to begin), keys looked at in one page, the text ('' or missing: all tasks).
-- Answers: {the next cursor (0 at the end), ids}. An id may come twice.
-- flags: no-writes, allow-oom
local pattern = string.gsub(T .. NAME.task .. (ARGV[3] or ''), '[%*%?%[%]\\]', '\\%0') .. '*'
local found = call('SCAN', ARGV[1], 'MATCH', pattern, 'COUNT', ARGV[2])
local ids = {}
for i, key in ipairs(found[2]) do ids[i] = string.sub(key, #T + 6) end
return {found[1], ids}
