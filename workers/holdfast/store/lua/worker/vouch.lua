-- A steward vouches for the incarnations that its parent has not reported dead: their leases hold though they are silent.
-- KEYS: the public queue. ARGV: incarnations.
-- Answers: how many of them live.
-- flags: allow-oom
-- use: clock
local lives, count = {}, 0
for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do lives[incarnation] = true end   -- none of the dead
for _, incarnation in ipairs(ARGV) do
  if lives[incarnation] then
    call('HSET', KEY.worker .. incarnation, 'vouched', NOW)
    call('ZADD', KEY.workers, NOW, incarnation)
    count = count + 1
  end
end
return count
