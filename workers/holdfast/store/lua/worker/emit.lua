-- Keep parts that running tasks have emitted, each under the latest claim of its task, and wake those who follow these tasks.
-- KEYS: the public queue. ARGV: per task its id, its claim, the number of its run, the number of the first part in that run
--       (from 1), how many parts there are, and the parts (a JSON array).
-- Answers: per task OK (they are kept, or were by this same call), LOST (the claim is not the task's, or no longer), or DAMAGED
--          (what stands at the key of its parts is none of ours).
-- Keeps: I8: only the latest claim emits. A part's position counts the parts of the task, from 1, with those that are kept no
--        more and those that never came here: who reads sees that some are missing. The first parts go first.
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
