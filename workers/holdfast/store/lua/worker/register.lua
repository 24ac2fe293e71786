-- Make an incarnation known. An id is never used again: another process is refused, the same one may repeat the call.
-- KEYS: the public queue.
-- ARGV: incarnation, host, boot, pid, slot;
--       the lanes that it serves as JSON (a list of name, weight, timeout in s), the names of its handlers as MessagePack ('': it runs tasks
--       of any name);
--       its kind: `worker` (of a supervisor's pool), `quarantine` (claims suspects, one at a time) or `single` (of a process that cannot
--       fork); the limits of its settings as JSON;
--       the number of the last halt before its start, for a process that ends at halts ('' or missing for others);
--       the name of its application ('' for none), the ids of the schedules that its code declares as MessagePack;
--       how many tasks it runs at once, the number of its last request: a worker that this Redis has forgotten goes on with the next one.
--       A value that the worker does not tell is ''.
-- Answers: OK; DEAD: it was declared dead, perhaps before it registered; or TAKEN: another process has this id.
-- Keeps: I2: an owner exists before it owns. I18: on a quiet or halted host it claims nothing from its first pull on.
-- flags: allow-oom
-- use: clock journal hosts catalogs workers shared_keys
local incarnation, host, boot, pid, slot, lanes, names, kind, limits, halt, application, catalog, concurrency, answered = unpack(ARGV)
local worker = KEY.worker .. incarnation

-- Keeps the names of the handlers once for all workers with the same names, in a set named by their digest.
local function keep_names()
  if names == '' then return '*' end
  local digest = redis.sha1hex(names)
  for _, name in ipairs(cmsgpack.unpack(names)) do shared('SADD', KEY.names .. digest, name) end
  call('SADD', KEY.handlers, digest)
  return digest
end

local known = facts_of_worker(incarnation, 'state', 'host', 'pid')
if known[1] == nil then call('UNLINK', worker) end   -- the key holds another type
if known[1] == 'dead' then return 'DEAD' end
if known[1] then
  if known[2] == host and known[3] == pid then return 'OK' end
  return 'TAKEN'
end
call('HSET', worker, 'state', 'live', 'request', answered or 0, 'heartbeat', 0, 'host', host, 'boot', boot, 'pid', pid, 'slot', slot,
  'kind', kind)
if lanes ~= '' then call('HSET', worker, 'lanes', lanes, 'names', keep_names()) end
if (limits or '') ~= '' then call('HSET', worker, 'limits', limits) end
if (catalog or '') ~= '' then call('HSET', worker, 'application', application, 'catalog', catalogs().keep(catalog)) end
if (concurrency or '') ~= '' then call('HSET', worker, 'concurrency', concurrency) end
if kind == 'quarantine' then call('SADD', KEY.quarantine, incarnation) end
if (halt or '') ~= '' then call('HSET', worker, 'halt', halt) end
if is_barred(host, halt) then call('HSET', worker, 'quiet', '1') end
call('ZADD', KEY.workers, NOW, incarnation)
raise(KEY.meta, 'roster', 1)   -- counts registrations and drains, so that a caller knows whether to look at all workers again
tell('worker-registered', incarnation, host .. ' ' .. pid)
return 'OK'
