-- A page of the tasks of a batch, in the order of their places. A retry stands at the place of the task that it repeats, instead of it.
-- KEYS: the public queue. ARGV: batch, the last place before the page, the number of places on the page.
-- Answers: {1 if there are places after these, else 0; place, band and id of each task}. damaged: a key of the batch holds something else.
-- flags: no-writes, allow-oom
-- use: batches
local key, first, last = KEY.batch_tasks .. ARGV[1], ARGV[2] + 1, ARGV[2] + ARGV[3]
local found, highest = {}, 0
for band = 0, BANDS.gone do
  local offset = band * BAND
  if band ~= BANDS.retried then
    local rows = redis.pcall('ZRANGE', key, offset + first, offset + last, 'BYSCORE', 'WITHSCORES')
    if rows.err then return 'damaged' end
    for i = 1, #rows, 2 do found[#found + 1] = {tonumber(rows[i + 1]) - offset, band, rows[i]} end
  end
  local top = call('ZRANGE', key, '(' .. offset + BAND, offset, 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  highest = math.max(highest, top and tonumber(top) - offset or 0)
end
table.sort(found, function(a, b) return a[1] < b[1] end)
return {highest > last and 1 or 0, found}
