-- Tombstone an incarnation and put back what it owned.
-- KEYS: the public queue. ARGV: incarnation, cause, charged (1 or 0: it counts as a crash of its tasks), ordered (1 or 0: an order
--       has caused it: drain, scale, reload, recycle, or it left of itself), runs of a task after its first death, the tasks that
--       had begun as MessagePack (see has_begun; '' or missing: not known, see begun_of), for how long the worker had been lost in ms
--       ('' or missing: not known, see lost_for).
-- Answers: how many tasks went back; 0 the second time. An incarnation nobody knows is tombstoned all the same: its
-- register may still be under way.
-- Keeps: I1, I2, I3, I4.
-- flags: allow-oom
-- use: recovery
return recover({incarnation = ARGV[1], cause = ARGV[2], charged = ARGV[3] == '1', ordered = ARGV[4] == '1', runs = tonumber(ARGV[5]),
  begun = (ARGV[6] or '') ~= '' and cmsgpack.unpack(ARGV[6]) or nil,
  ago = tonumber(ARGV[7] or '')})
