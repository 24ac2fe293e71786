-- Make an incarnation known. An id is never used again: another process is refused, the same one may repeat itself.
-- KEYS: the public queue. ARGV: incarnation, host, boot, pid, slot, lanes it serves as JSON (a list of name, weight, timeout in s; ''
--       if it does not say), names of its handlers as MessagePack ('' if it runs tasks of any name).
-- Answers: OK, DEAD (tombstoned, even before it registered) or TAKEN.
-- Keeps: I2: an owner exists before it owns. I18: on a quiet host it claims nothing from its first pull on.
-- flags: allow-oom
-- use: clock task_record journal hosts
local incarnation, host, boot, pid, slot, lanes, names = unpack(ARGV)
local worker = T .. 'worker:' .. incarnation

-- Many workers have the same names: these are kept once, in a set that is called by their digest.
local function keep_names()
  if names == '' then return '*' end
  local digest = redis.sha1hex(names)
  for _, name in ipairs(cmsgpack.unpack(names)) do call('SADD', T .. 'names:' .. digest, name) end
  call('SADD', T .. 'handlers', digest)
  return digest
end

local known = call('HMGET', worker, 'state', 'host', 'pid')
if known[1] == 'dead' then return 'DEAD' end
if known[1] then
  if known[2] == host and known[3] == pid then return 'OK' end
  return 'TAKEN'
end
call('HSET', worker, 'state', 'live', 'request', 0, 'heartbeat', 0, 'host', host, 'boot', boot, 'pid', pid, 'slot', slot)
if lanes ~= '' then call('HSET', worker, 'lanes', lanes, 'names', keep_names()) end
if is_quiet(host) then call('HSET', worker, 'quiet', '1') end
call('ZADD', T .. 'workers', NOW, incarnation)
tell('worker-registered', incarnation, host .. ' ' .. pid)
return 'OK'
