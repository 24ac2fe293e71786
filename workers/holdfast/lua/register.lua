-- Make an incarnation known. An id is never used again: another process is refused, the same one may repeat itself.
-- KEYS: the public queue. ARGV: incarnation, host, boot, pid, slot.
-- Answers: OK, DEAD (tombstoned, even before it registered) or TAKEN.
-- Keeps: I2: an owner exists before it owns. I18: on a quiet host it claims nothing from its first pull on.
-- flags: allow-oom
-- use: clock record journal hosts
local incarnation, host, boot, pid, slot = unpack(ARGV)
local worker = T .. 'worker:' .. incarnation
local known = call('HMGET', worker, 'state', 'host', 'pid')
if known[1] == 'dead' then return 'DEAD' end
if known[1] then
  if known[2] == host and known[3] == pid then return 'OK' end
  return 'TAKEN'
end
call('HSET', worker, 'state', 'live', 'request', 0, 'heartbeat', 0, 'host', host, 'boot', boot, 'pid', pid, 'slot', slot)
if is_quiet(host) then call('HSET', worker, 'quiet', '1') end
call('ZADD', T .. 'workers', NOW, incarnation)
tell('worker-registered', incarnation, host .. ' ' .. pid)
return 'OK'
