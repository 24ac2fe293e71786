-- The version of the keys, a noted loss of all data, and the workers that have been silent for longest.
-- KEYS: the public queue. ARGV: how many workers at most.
-- Answers: {now (ms), schema ('': none yet), when the store was seen emptied (ms, '': never), how many tasks were known then ('': none),
--       workers}. Of each worker: {incarnation, last heartbeat (ms), host, state, number of heartbeats, when a steward vouched for it (ms),
--       version of Holdfast, how far its host's clock is ahead (ms)}; a fact that nobody has told is ''.
-- flags: no-writes, allow-oom
-- use: clock workers
local function told(facts, n)
  for i = 1, n do facts[i] = facts[i] or '' end
  return facts
end
local beats, members = call('ZRANGE', KEY.workers, 0, ARGV[1] - 1, 'WITHSCORES'), {}
for i = 1, #beats, 2 do
  local facts = told(facts_of_worker(beats[i], 'host', 'state', 'heartbeat', 'vouched', 'version', 'ahead'), 6)
  members[#members + 1] = {beats[i], beats[i + 1], unpack(facts)}
end
local meta = told(call('HMGET', KEY.meta, 'schema', 'emptied', 'lost'), 3)
return {NOW, meta[1], meta[2], meta[3], members}
