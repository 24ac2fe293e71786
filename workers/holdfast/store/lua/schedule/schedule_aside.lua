-- Set aside a schedule whose record cannot be read: nothing is due about it until it is set again.
-- KEYS: the public queue. ARGV: id, the generation that was seen ('' for none).
-- Answers: aside, or changed: it was set since.
-- flags: allow-oom
-- use: schedules
local id = ARGV[1]
if (scheduling().fields(id, 'generation')[1] or '') ~= ARGV[2] then return 'changed' end
call('ZADD', KEY.schedules, 'XX', '+inf', id)
return 'aside'
