-- Put back what a silent worker has claimed and not begun.
-- KEYS: the public queue. ARGV: incarnation, the last request of whose claims it begins none any more (its page says so), the tasks that
--       had begun as MessagePack (see has_begun).
-- Answers: how many tasks went back.
-- Keeps: I1. Claims of later requests stay: it may begin those.
-- flags: allow-oom
-- use: unbegun begun
local last, begun = tonumber(ARGV[2]), cmsgpack.unpack(ARGV[3])
local function unbegun(id, claim) return not has_begun(begun, id, claim) and (tonumber(string.match(claim, ':(%d+)$')) or 0) <= last end
return return_unbegun(ARGV[1], unbegun, ' its worker is silent')
