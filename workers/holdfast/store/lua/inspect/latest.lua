-- The last event, and how much of the events that the caller has seen is gone. A replica that lagged, or an older copy, has fewer events.
-- KEYS: the public queue. ARGV: the id of the last event that the caller has seen ('' for none).
-- Answers: {id of the last event ('': there is none), how many ms of the seen events are gone (-1: none, as far as can be told)}.
-- flags: no-writes, allow-oom
local events, seen = KEY.events, ARGV[1]
local function first_of(entries) return entries[1] and entries[1][1] end
local function ms(id) return tonumber(string.match(id, '^%d+')) end
local last = first_of(call('XREVRANGE', events, '+', '-', 'COUNT', 1)) or ''
if seen == '' or last == '' or last == seen or first_of(call('XRANGE', events, seen, seen)) then return {last, -1} end
local before = first_of(call('XREVRANGE', events, seen, '-', 'COUNT', 1))
return {last, before and ms(seen) - ms(before) or -1}
