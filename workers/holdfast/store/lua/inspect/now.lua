-- The clock of all operations.
-- KEYS: the public queue. Answers: milliseconds since 1970.
-- flags: no-writes, allow-oom
-- use: clock
return NOW
