-- The last event, and how much is gone of what the caller has seen: a replica that lagged, or an older copy, has fewer events.
-- KEYS: the public queue. ARGV: the id of the event that was seen last ('' for none).
-- Answers: {id of the last event ('' where there is none), ms of what was seen that are gone (-1: none, as far as can be told)}.
-- flags: no-writes, allow-oom
local events, seen = KEY.events, ARGV[1]
local function first_of(entries) return entries[1] and entries[1][1] end
local function ms(id) return tonumber(string.match(id, '^%d+')) end
local last = first_of(call('XREVRANGE', events, '+', '-', 'COUNT', 1)) or ''
if seen == '' or last == '' or last == seen or first_of(call('XRANGE', events, seen, seen)) then return {last, -1} end
local before = first_of(call('XREVRANGE', events, seen, '-', 'COUNT', 1))
return {last, before and ms(seen) - ms(before) or -1}
