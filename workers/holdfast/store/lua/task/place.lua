-- The place of a submitted task among the tasks that wait.
-- KEYS: the public queue. ARGV: task id.
-- Answers: {how many go before it, 1 if this number is exact, 0 if there are at least as many}. For a suspect or a task at a gate, these
--       are the tasks before it there; for any other task, the entries before its own in its lane. -1: its entry is gone, and the audit
--       will put it back. An empty answer: the task does not wait.
-- flags: no-writes, allow-oom
-- use: task_record lane lane_front shared_keys
local SEARCHED = 10000   -- entries from the head
local id = ARGV[1]
local r = read(id, 'state', 'lane', 'seq', 'solo', 'held')
if r[1] ~= 'submitted' then return {} end
local beside = r[5] and r[5] ~= '' and held_of(r[2], r[5]) or r[4] == '1' and KEY.suspects .. r[2]
if beside then
  local rank = redis.pcall('ZRANK', beside, id)
  return {type(rank) == 'number' and rank or -1, 1}
end
local before = place_in(r[2], entry(id, r[3], call('GET', KEY.op .. id) or '{'), SEARCHED)
if before then return {before, 1} end
if call('LLEN', list_of(r[2])) <= SEARCHED then return {-1, 1} end
return {SEARCHED, 0}
