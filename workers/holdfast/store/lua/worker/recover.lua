-- Declare an incarnation dead, and put back the tasks that it owned.
-- KEYS: the public queue.
-- ARGV: incarnation, cause, charged (1: the death counts as a crash of its tasks; 0), ordered (1: an order has caused it, such as drain,
--       scale, reload or recycle, or the worker left of itself; 0), how many runs a task has after its first death, the tasks that had
--       begun as MessagePack (see has_begun; '' or missing: not known, see begun_of), how long ago the worker ended in ms ('' or missing:
--       not known, see lost_for).
-- Answers: how many tasks went back; 0 for a second call. An unknown incarnation gets its tombstone as well, because its `register` may
-- still be under way.
-- Keeps: I1, I2, I3, I4.
-- flags: allow-oom
-- use: recovery
return recover({incarnation = ARGV[1], cause = ARGV[2], charged = ARGV[3] == '1', ordered = ARGV[4] == '1', runs = tonumber(ARGV[5]),
  begun = (ARGV[6] or '') ~= '' and cmsgpack.unpack(ARGV[6]) or nil,
  ago = tonumber(ARGV[7] or '')})
