-- Seal a batch whose producer is gone. The batch keeps the tasks that were submitted, and takes no more.
-- KEYS: the public queue. ARGV: batch.
-- Answers: sealed; again: it was sealed before; unknown; or damaged: a key of the batch holds something else.
-- Keeps: I19: a batch that is sealed and has no open task has ended, and its callback begins once.
-- flags: allow-oom
-- use: batches
local batch = ARGV[1]
if batching().is_damaged(batch) then return 'damaged' end
if batching().seal(batch, 'operator') then return 'sealed' end
return batching().facts_of(batch).digest and 'again' or 'unknown'
