-- The earlier turns of a task, before those that its delivery contained.
-- KEYS: the public queue. ARGV: task id, how many items of its history go before those that are known.
-- Answers: {items in their order, an operation and a result of each turn; how many items go before them}.
-- flags: no-writes, allow-oom
-- use: history
local items, first = turns_before(ARGV[1], tonumber(ARGV[2]), math.huge)
return {items, first}
