-- End the doubt whether this Redis was set back: it has everything that its ledger has seen, or was given it again.
-- KEYS: the public queue. ARGV: none.
-- Answers: 1, or 0 where nobody doubts.
-- flags: allow-oom
-- use: doubt
return doubt().finish()
