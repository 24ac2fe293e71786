-- The store's epoch: a name that the store keeps until it loses all its data. If the caller knew another name, the store was emptied since.
-- The first such call records this for everybody.
-- KEYS: the public queue. ARGV: the name that the caller knows ('' for none), a fresh name, how many tasks the caller knew of.
-- Answers: {name, tasks in the store, ms since the store was seen emptied (-1: never), tasks that were known of then}.
-- flags: allow-oom
-- use: clock
local known, fresh, held = unpack(ARGV)
local meta = KEY.meta
local r = call('HMGET', meta, 'epoch', 'emptied', 'lost')
local name, emptied, lost = r[1], r[2], r[3]
if not name then
  name = fresh
  call('HSET', meta, 'epoch', name)
end
if known ~= '' and known ~= name and not emptied then
  emptied, lost = NOW, held
  call('HSET', meta, 'emptied', emptied, 'lost', lost)
end
local counters = call('HMGET', KEY.counters, 'accepted', 'trimmed')
local holds = (tonumber(counters[1] or '0') or 0) - (tonumber(counters[2] or '0') or 0)
return {name, holds, emptied and NOW - emptied or -1, tonumber(lost or '0')}
