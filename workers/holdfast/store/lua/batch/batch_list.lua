-- A page of batches, the latest first.
-- KEYS: the public queue. ARGV: how many batches to skip, limit, the beginning of their ids ('' for any).
-- Answers: {number of all batches, ids on this page that begin so}. While batches come and go, a page may repeat or miss one.
-- flags: no-writes, allow-oom
local found = {}
for _, batch in ipairs(call('ZRANGE', KEY.batches, ARGV[1], ARGV[1] + ARGV[2] - 1, 'REV')) do
  if string.sub(batch, 1, #ARGV[3]) == ARGV[3] then found[#found + 1] = batch end
end
return {call('ZCARD', KEY.batches), found}
