-- The record of a batch, and the counts of its tasks.
-- KEYS: the public queue. ARGV: batch.
-- Answers: {its facts as pairs; how many of its tasks are open, completed, failed, rejected, canceled, retried, gone; time (ms)}.
--       Empty: the batch is unknown. damaged: a key of the batch holds something else.
-- flags: no-writes, allow-oom
-- use: batches clock
local facts, counts = redis.pcall('HGETALL', KEY.batch .. ARGV[1]), {}
if facts.err then return 'damaged' end
if #facts == 0 then return {} end
for band = 0, BANDS.gone do
  counts[band + 1] = batching().count_in(ARGV[1], band)
  if not counts[band + 1] then return 'damaged' end
end
return {facts, counts, NOW}
