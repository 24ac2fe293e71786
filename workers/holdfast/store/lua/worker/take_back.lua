-- Put back the tasks that a silent worker has claimed and not begun.
-- KEYS: the public queue. ARGV: incarnation, the last request whose claims it must not begin any more (its page of begun tasks says so),
--       the tasks that had begun as MessagePack (see has_begun).
-- Answers: how many tasks went back.
-- Keeps: I1. Claims of later requests stay, because the worker may still begin them.
-- flags: allow-oom
-- use: unbegun begun
local last, begun = tonumber(ARGV[2]), cmsgpack.unpack(ARGV[3])
local function unbegun(id, claim) return not has_begun(begun, id, claim) and (tonumber(string.match(claim, ':(%d+)$')) or 0) <= last end
return return_unbegun(ARGV[1], unbegun, ' its worker is silent')
