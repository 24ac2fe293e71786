-- A steward vouches for the incarnations that its parent has not reported dead: their leases hold though they are silent.
-- KEYS: the public queue. ARGV: incarnations.
-- Answers: how many of them live.
-- flags: allow-oom
-- use: clock
local living = 0
for _, incarnation in ipairs(ARGV) do
  local worker = T .. 'worker:' .. incarnation
  local r = call('HMGET', worker, 'state', 'heartbeat')
  if r[1] and r[1] ~= 'dead' then
    call('HSET', worker, 'vouched', NOW, 'heartbeat', (r[2] or 0) + 1)
    call('ZADD', T .. 'workers', NOW, incarnation)
    living = living + 1
  end
end
return living
