-- Note how a receiver has answered: by this its webhooks stand before or behind those of others.
-- KEYS: the public queue. ARGV: receiver, prompt, slow or missed.
-- Keeps: a receiver that misses again and again has its turn less and less often, up to once in a minute; the first answer ends that.
-- flags: allow-oom
-- use: webhook_outbox clock
local PROMPT_KEPT = 1000   -- receivers that are known to answer promptly
local PATIENCE, LONGEST_REST_MS = 3, 60000   -- misses in a row without a rest, and the longest rest
local receiver, word = ARGV[1], ARGV[2]
local box = outbox()
if word == 'prompt' then
  redis.pcall('ZADD', KEY.prompt, NOW, receiver)   -- not the trouble of others, if somebody has damaged it
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
