-- Note that a worker has a new connection: the Redis behind it may have been set back to an earlier moment. If a ledger follows this
-- Redis, nobody claims until the steward has compared the two (see doubt).
-- KEYS: the public queue. ARGV: incarnation.
-- Answers: 1 if this Redis has to be confirmed, else 0.
-- Keeps: a turn whose outcome is in the ledger is not claimed again.
-- flags: allow-oom
-- use: doubt
return doubt().begin(ARGV[1], 'connected anew') and 1 or 0
