-- Keep parts that running tasks have emitted, each under the latest claim of its task, and wake clients that follow these tasks.
-- KEYS: the public queue. ARGV: for each task its id, its claim, the number of its run, the number of the first part in that run (from 1),
--       how many parts there are, and the parts (a JSON array).
-- Answers: for each task OK: the parts are kept, perhaps by an earlier try of this call; LOST: the claim is not the latest one of the task;
--       or DAMAGED: the key of its parts holds data that Holdfast did not write.
-- Keeps: I8: only the latest claim emits. A part's position counts all parts of the task, from 1, also those that were dropped or never
--       came, so that a reader sees gaps. The first parts are dropped first.
-- Refused when out of memory, before anything is written.
-- flags:
-- use: clock task_record emitted
local words = {}
for i = 1, #ARGV, 6 do
  local id, claim, run = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local number, count, values = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), ARGV[i + 5]
  local r, key = read(id, 'state', 'claim'), KEY.parts .. id
  local last, word = batch_at(key, -1), 'OK'
  if r[1] ~= 'working' or r[2] ~= claim then word = 'LOST'
  elseif not last then word = 'DAMAGED'
  else
    local known = last.claim == claim and last.number or 0   -- parts of this run that have come, or were skipped
    if number > known then
      local position, bytes = last.position + number - known - 1 + count, last.bytes + #values
      call('RPUSH', key, position .. ' ' .. string.format('%.0f', bytes) .. ' ' .. run .. ' ' .. number + count - 1 .. ' ' .. NOW .. ' ' .. claim .. '\n' .. values)
      drop_first(key, position, bytes)
      tell_waiters(id, 'part')
    end
  end
  words[#words + 1] = word
end
return words
