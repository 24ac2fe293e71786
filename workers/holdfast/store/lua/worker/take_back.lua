-- Put back what a silent worker has claimed and not begun.
-- KEYS: the public queue. ARGV: incarnation, the last request of whose claims it begins none any more (its page says so), ids of the
--       tasks that had begun as MessagePack.
-- Answers: how many tasks went back.
-- Keeps: I1. Claims of later requests stay: it may begin those.
-- flags: allow-oom
-- use: unbegun
local last, begun = tonumber(ARGV[2]), {}
for _, id in ipairs(cmsgpack.unpack(ARGV[3])) do begun[id] = true end
local function unbegun(id, claim) return not begun[id] and tonumber(string.match(claim, ':(%d+)$')) <= last end
return return_unbegun(ARGV[1], unbegun, ' its worker is silent')
