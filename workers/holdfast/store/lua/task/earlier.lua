-- The earlier turns of a task that were not in its delivery.
-- KEYS: the public queue. ARGV: task id, the number of items of its history that stand before those that the caller has.
-- Answers: {items in order, an operation and a result for each turn; how many items stand before these}.
-- flags: no-writes, allow-oom
-- use: history
local items, first = turns_before(ARGV[1], tonumber(ARGV[2]), math.huge)
return {items, first}
