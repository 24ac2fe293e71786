-- End the doubt: this Redis has everything that its ledger has seen, or has got it back (see the shared part `doubt`).
-- KEYS: the public queue. ARGV: none.
-- Answers: 1, or 0: there was no doubt.
-- flags: allow-oom
-- use: doubt
return doubt().finish()
