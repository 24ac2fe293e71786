-- The namespace in numbers, at one moment. It reads no records of tasks, except the oldest submitted one.
-- KEYS: the public queue. ARGV: lanes to count even if no task came through them.
-- Answers: {states as pairs, lanes as pairs (entries without those known to be stale), {dead letters, suspects that wait in their lanes,
--       unreadable entries, workers, when the oldest task was submitted (ms, -1: none)}, counters as pairs}.
-- flags: no-writes, allow-oom
-- use: task_record workers stale_entries shared_keys
local lanes = {}
for _, lane in ipairs(ARGV) do lanes[lane] = true end
for _, index in ipairs({NAME.seq, NAME.heads}) do
  for _, lane in ipairs(call('HKEYS', T .. index)) do lanes[lane] = true end
end

local submitted, suspects, oldest, lengths = 0, 0, -1, {}
for lane in pairs(lanes) do
  submitted = submitted + size_of('ZCARD', KEY.submitted .. lane)
  suspects = suspects + size_of('ZCARD', KEY.suspects .. lane)
  lengths[#lengths + 1] = lane
  lengths[#lengths + 1] = waiting_in(lane)
  local first = members_of('ZRANGE', KEY.submitted .. lane, 0, 0)[1]
  local created = first and whole(read(first, 'created')[1]) or -1
  if created >= 0 and (oldest < 0 or created < oldest) then oldest = created end
end
local working = 0
for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
  working = working + (tonumber(redis.pcall('HLEN', running_of(incarnation))) or 0)   -- 0 if somebody has damaged it
end
local states = {'submitted', submitted, 'delayed', call('ZCARD', KEY.due), 'waiting', call('ZCARD', KEY.waiting), 'working', working}
local tallied = call('HGETALL', KEY.tally)
for i = 1, #tallied, 2 do
  if TERMINAL[tallied[i]] or PARKED[tallied[i]] then states[#states + 1], states[#states + 2] = tallied[i], whole(tallied[i + 1]) or 0 end
end
local counters = call('HGETALL', KEY.counters)
for i = 2, #counters, 2 do counters[i] = whole(counters[i]) or 0 end   -- somebody may have written something else
return {states, lengths,
  {call('ZCARD', KEY.dead), suspects, call('LLEN', KEY.unreadable), call('ZCARD', KEY.workers), oldest},
  counters}
