-- Seal a batch whose producer is gone: it has the tasks that were submitted, and takes no more.
-- KEYS: the public queue. ARGV: batch.
-- Answers: sealed; again: it was sealed before; unknown; damaged: a key of it holds something else.
-- Keeps: I19: a batch that is sealed and has no open task has ended, and its callback is due, once.
-- flags: allow-oom
-- use: batches
local batch = ARGV[1]
if batching().is_damaged(batch) then return 'damaged' end
if batching().seal(batch, 'operator') then return 'sealed' end
return batching().facts_of(batch).digest and 'again' or 'unknown'
