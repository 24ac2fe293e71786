-- Tombstone an incarnation and put back what it owned.
-- KEYS: the public queue. ARGV: incarnation, cause, charged (1 or 0: does it count as a crash of its tasks).
-- Answers: how many tasks went back; 0 the second time. An incarnation nobody knows is tombstoned all the same: its
-- register may still be under way.
-- Keeps: I1, I2, I3, I4.
-- flags: allow-oom
-- use: recovery
return recover(ARGV[1], ARGV[2], ARGV[3] == '1')
