-- Note how a receiver has answered. This decides whether its webhooks are tried before or after those for other receivers.
-- KEYS: the public queue. ARGV: receiver, answer (prompt, slow or missed).
-- Answers: how often the receiver has missed in a row.
-- Keeps: a receiver that misses again and again is tried less and less often, at least once a minute. Its first answer ends this.
-- flags: allow-oom
-- use: webhook_outbox clock
local PROMPT_KEPT = 1000   -- receivers that are known to answer promptly
local PATIENCE, LONGEST_REST_MS = 3, 60000   -- misses in a row before the first rest; the longest rest
local receiver, word = ARGV[1], ARGV[2]
local box = outbox()
if word == 'prompt' then
  redis.pcall('ZADD', KEY.prompt, NOW, receiver)   -- pcall, because a damaged index must not stop the call
  redis.pcall('ZREMRANGEBYRANK', KEY.prompt, 0, -PROMPT_KEPT - 1)
else
  redis.pcall('ZREM', KEY.prompt, receiver)
end
local misses, at = 0, NOW
if word == 'missed' then
  misses = box.turn_of(receiver) + 1
  if misses > PATIENCE then at = NOW + math.min(1000 * 2 ^ math.min(misses - PATIENCE - 1, 10), LONGEST_REST_MS) end
end
box.give_turn(receiver, misses, at)
return misses
