-- A worker's connection has ended and there is a new one: behind it may be a Redis that was set back to an earlier moment. If a ledger
-- follows this Redis, nobody claims until its steward has compared the two.
-- KEYS: the public queue. ARGV: incarnation.
-- Answers: 1 if it has to be confirmed, else 0.
-- Keeps: a turn whose outcome the ledger has is not claimed again.
-- flags: allow-oom
-- use: doubt
return doubt().begin(ARGV[1], 'connected anew') and 1 or 0
