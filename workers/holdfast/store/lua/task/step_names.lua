-- The names and sizes of the steps of a task from a place on, without their results, as far as one call may read.
-- KEYS: the public queue. ARGV: task id, the first place.
-- Answers: {the place to go on from (-1: that was all), then of each step: place, head (turn, time (ms), name), bytes of its result}.
-- flags: no-writes, allow-oom
-- use: limits
local key, answer, bytes = KEY.steps .. ARGV[1], {-1}, 0
local left = redis.pcall('HLEN', key)
if type(left) ~= 'number' or left == 0 then return answer end   -- none, or somebody has damaged them
for place = tonumber(ARGV[2]), STEPS_KEPT - 1 do
  local text = call('HGET', key, place)
  local head = text and string.match(text, '^[^\n]*')
  if head then
    if bytes > 0 and bytes + #text > WINDOW_BYTES then
      answer[1] = place
      return answer
    end
    bytes = bytes + #text
    answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = place, head, #text - #head - 1
  end
end
return answer
