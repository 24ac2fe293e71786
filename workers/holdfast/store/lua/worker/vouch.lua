-- A steward vouches for the incarnations that its parent has not reported dead: their leases hold though they are silent.
-- KEYS: the public queue. ARGV: the clock of their host (Unix ms) and the version of Holdfast there (both '' if not told), incarnations.
-- Answers: how many of them are alive.
-- flags: allow-oom
-- use: clock
local clock, version = ARGV[1], ARGV[2]
local lives, count = {}, 0
for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do lives[incarnation] = true end   -- only living workers are in this set
for i = 3, #ARGV do
  local incarnation = ARGV[i]
  if lives[incarnation] then   -- pcall, because the heartbeat alone keeps a worker with a damaged record alive
    redis.pcall('HSET', KEY.worker .. incarnation, 'vouched', NOW)
    if clock ~= '' then redis.pcall('HSET', KEY.worker .. incarnation, 'ahead', clock - NOW, 'version', version) end
    call('ZADD', KEY.workers, NOW, incarnation)
    count = count + 1
  end
end
return count
