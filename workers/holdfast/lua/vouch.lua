-- A steward vouches for the incarnations that its parent has not reported dead: their leases hold though they are silent.
-- KEYS: the public queue. ARGV: incarnations.
-- Answers: how many of them live.
-- flags: allow-oom
-- use: clock
local beats = {}
for _, incarnation in ipairs(ARGV) do
  local worker = T .. 'worker:' .. incarnation
  local r = call('HMGET', worker, 'state', 'heartbeat')
  if r[1] and r[1] ~= 'dead' then
    call('HSET', worker, 'vouched', NOW, 'heartbeat', (r[2] or 0) + 1)
    beats[#beats + 1] = NOW
    beats[#beats + 1] = incarnation
  end
end
if #beats > 0 then call('ZADD', T .. 'workers', unpack(beats)) end
return #beats / 2
