-- Numbers of the queue that can be read without looking at tasks.
-- KEYS: the public queue. ARGV: ms without a heartbeat after which a worker counts as silent.
-- Answers: {now (ms), live workers, how many of them are silent, waiting webhooks, schedules, when the first of these is due (ms, -1:
--       none)}.
-- flags: no-writes, allow-oom
-- use: clock
local function size(key)
  local n = redis.pcall('ZCARD', key)
  return type(n) == 'number' and n or 0
end
local first = redis.pcall('ZRANGEBYSCORE', KEY.schedules, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return {NOW, size(KEY.workers), call('ZCOUNT', KEY.workers, '-inf', '(' .. string.format('%.0f', NOW - ARGV[1])),
  size(KEY.webhooks), size(KEY.schedules), first[2] and math.floor(first[2]) or -1}
