-- The steps of a task, from a place on. One answer has room for a bounded number of bytes.
-- KEYS: the public queue. ARGV: task id, the first place.
-- Answers: {the place to go on from (-1: there is no more), then for each step: its place, and its text: turn, time (ms), name, newline,
--       result}.
-- flags: no-writes, allow-oom
-- use: constants
local key, answer, bytes = KEY.steps .. ARGV[1], {-1}, 0
local left = redis.pcall('HLEN', key)
if type(left) ~= 'number' or left == 0 then return answer end   -- there are none, or somebody has damaged the key
for place = tonumber(ARGV[2]), STEPS_KEPT - 1 do
  local text = call('HGET', key, place)
  if text then
    if bytes > 0 and bytes + #text > WINDOW_BYTES then
      answer[1] = place
      return answer
    end
    bytes = bytes + #text
    answer[#answer + 1], answer[#answer + 2] = place, text
  end
end
return answer
