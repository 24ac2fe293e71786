-- Leave a word that ends a worker's blocking wait. A dead worker gets none.
-- KEYS: the public queue. ARGV: incarnation.
-- Answers: 1, or 0: the incarnation is dead.
-- flags: allow-oom
-- use: workers
local state = call('HGET', KEY.worker .. ARGV[1], 'state')
if state == 'dead' then return 0 end
hint(ARGV[1], 'wake')
return 1
