-- A steward vouches for the incarnations that its parent has not reported dead: their leases hold though they are silent.
-- KEYS: the public queue. ARGV: incarnations.
-- Answers: how many of them live.
-- flags: allow-oom
-- use: clock
local lives, beats = {}, {}
for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do lives[incarnation] = true end   -- none of the dead
for _, incarnation in ipairs(ARGV) do
  if lives[incarnation] then
    call('HSET', T .. 'worker:' .. incarnation, 'vouched', NOW)
    beats[#beats + 1] = NOW
    beats[#beats + 1] = incarnation
  end
end
if #beats > 0 then call('ZADD', T .. 'workers', unpack(beats)) end
return #beats / 2
