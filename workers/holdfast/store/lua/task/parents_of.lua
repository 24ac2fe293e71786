-- The parents of a task (those in its `after`), with the outcome of each. One answer has room for a bounded size of results.
-- KEYS: the public queue. ARGV: task id, the first place (from 1), 1 to answer results, else 0.
-- Answers: {the place to go on from (-1: there is no more), then for each parent, in the order of `after`: id, state (gone: its record was
--       deleted before it ended), ended (1 or 0), reason, result ('' for none), bytes of the result}.
-- flags: no-writes, allow-oom
-- use: parent_results constants
local given = parent_results()
local id, first, with_results = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local known, rows, answer, bytes = given.parents_of(id), {}, {-1}, 0
for i = 1, #known, 2 do
  local place = tonumber(string.match(known[i + 1], '^%d+'))
  if place and place >= first then rows[#rows + 1] = {place, known[i], known[i + 1]} end
end
table.sort(rows, function(a, b) return a[1] < b[1] end)
for _, row in ipairs(rows) do
  local place, state, reason, _, key = given.found(row[2], row[3])
  local size = key and redis.pcall('STRLEN', key) or 0
  if type(size) ~= 'number' then size = 0 end   -- somebody has damaged the key
  if with_results and bytes > 0 and bytes + size > WINDOW_BYTES then
    answer[1] = place
    return answer
  end
  bytes = bytes + size
  for _, value in ipairs({row[2], state, reason and 1 or 0, reason or '', with_results and size > 0 and call('GET', key) or '', size}) do
    answer[#answer + 1] = value
  end
end
return answer
