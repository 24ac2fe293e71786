-- Renew the lease of an incarnation, and compare the tasks that it holds with those that it owns here.
-- KEYS: the public queue.
-- ARGV: incarnation, state (live or draining), the last request whose answer it has seen, how many lanes it serves, their names, then for
--       each task that it holds (unsettled results included) task id, claim, progress, checkpoint ('' for none).
-- Answers: {standing; id and claim of each task that it holds and does not own; how many tasks it owned, did not hold, and were put back; ms
--          since a steward vouched for it (-1: never); 0 if nothing waits in its lanes that it might claim; 1 if its host is quiet; id and
--          claim of each task that is to pause; the last request that was carried out for it}.
-- Keeps: I1, I2: no task stays with a worker that does not know of it.
-- flags: allow-oom
-- use: clock task_record lane pause_requests unbegun workers journal shown_progress
local incarnation, state, answered, lanes = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local worker = KEY.worker .. incarnation
local known = facts_of_worker(incarnation, 'state', 'vouched', 'kind', 'heartbeat', 'quiet', 'request')
if not known[1] then return {'UNKNOWN', {}, 0, -1, 0, 0, {}, 0} end
if known[1] == 'dead' then return {'DEAD', {}, 0, -1, 0, 0, {}, 0} end
if known[1] ~= state then raise(KEY.meta, 'roster', 1) end   -- a draining worker declares no schedules any more
call('HSET', worker, 'state', state, 'heartbeat', (whole(known[4]) or 0) + 1)
call('ZADD', KEY.workers, NOW, incarnation)

local held, lost, to_pause = {}, {}, {}

-- True if the task was given to this worker again, by a request whose answer it has not seen. It holds the task under an older claim,
-- because the store has lost writes; it goes on under the new claim.
local function unread(owner, claim)
  return owner == incarnation and tonumber(string.match(claim or '', ':(%d+)$') or 0) > answered
end

local function add(list, id, claim) list[#list + 1], list[#list + 2] = id, claim end
for i = 5 + lanes, #ARGV, 4 do
  local id, claim, progress, checkpoint = unpack(ARGV, i, i + 3)
  held[id] = true
  local r = read(id, 'state', 'claim', 'pause', 'progress', 'turn', 'webhook', 'owner')
  if r[1] ~= 'working' or r[2] ~= claim then
    if r[1] ~= 'working' or not unread(r[7], r[2]) then add(lost, id, claim) end
  else
    if is_pause_asked(r[3], claim) then add(to_pause, id, claim) end
    if progress ~= '' and progress ~= r[4] then show_progress(id, progress, r[5], r[6]) end
    if checkpoint ~= '' then call('SET', KEY.checkpoint .. id, checkpoint) end
  end
end

-- True if the worker has dropped this task: it has seen the answer of the task's request, and does not hold the task under any claim. So
-- nobody works on it.
local function dropped(id, claim) return not held[id] and (tonumber(string.match(claim, ':(%d+)$')) or 0) <= answered end
local returned = return_unbegun(incarnation, dropped, '')

-- How many tasks wait that this worker might claim. Workers of a pool claim no suspects, and a quarantine worker claims nothing else.
local waiting = 0
for i = 5, 4 + lanes do
  if known[3] ~= 'quarantine' then waiting = waiting + call('EXISTS', list_of(ARGV[i])) end
  if known[3] ~= 'worker' then waiting = waiting + call('EXISTS', KEY.suspects .. ARGV[i]) end
end
return {'OK', lost, returned, whole(known[2]) and NOW - known[2] or -1, waiting, known[5] and 1 or 0, to_pause,
  tonumber(known[6]) or 0}
