-- Put an entry that was set aside back into its lane, to be read once more.
-- KEYS: the public queue. ARGV: the entry as it was set aside.
-- Answers: back; gone: it is no longer set aside; or cut: only its beginning was kept.
-- Keeps: I6: the entry leaves the list of unreadable entries only after it stands in its lane.
-- A task that was set aside is looked at again, because its record may be whole by now. The task is then put back into the index of its
-- state, and is told of parents and batches that have ended meanwhile.
-- flags: allow-oom
-- use: lane damage task_record agenda ties batches clock shared_keys
local LATER = {}

-- Puts the task back into the indexes of its lane. Its entry is in the lane by now, and counts unless a gate has the task.
function LATER.submitted(id, r)
  shared('ZADD', KEY.submitted .. r.lane, r.seq, id)
  if (r.held or '') ~= '' then
    if shared('ZSCORE', held_of(r.lane, r.held), id) then return end
    write(id, 'held', '')
  end
  if r.solo == '1' then add_suspect(id, r.lane, r.seq) end
end

function LATER.delayed(id)
  local due = call('ZSCORE', KEY.due, id)
  if due and due ~= 'inf' then return end
  call('ZADD', KEY.due, 0, id)
  alarm(KEY.due, id)
end

function LATER.waiting(id) call('ZADD', KEY.waiting, 'NX', NOW, id) end

-- Its waiting messages continue to join its turn.
function LATER.suspended(id, r)
  if r.joining == '1' then call('SADD', KEY.joining, id) end
end

-- Has the task told of parents, and of its batch, if they have ended meanwhile.
local function tell_meanwhile(id)
  local ties = ties()
  for _, parent in ipairs(ties.parents_of(id)) do
    local state = read(parent, 'state')[1]
    if not state or TERMINAL[state] then
      call('ZADD', ties.children_of(parent), 'NX', NOW, id)
      ties.agenda.put(NOW, 'settle', parent)
    end
  end
  local batch = batching().batch_of(read(id, 'batch')[1])
  if batch and (batching().facts_of(batch).ended or call('EXISTS', KEY.batch .. batch) == 0) then batching().begin_callback(id, batch) end
end

local function look_again(id)
  redis.pcall('HDEL', KEY.task .. id, 'aside')
  local flaw, known = flaw_of(id), read(id, 'state', 'lane', 'seq', 'solo', 'held', 'joining', 'expires')
  if flaw then return set_task_aside(id, flaw) end
  local r = {state = known[1], lane = known[2], seq = known[3], solo = known[4], held = known[5], joining = known[6], expires = known[7]}
  if not r.state or TERMINAL[r.state] then return end
  if LATER[r.state] then LATER[r.state](id, r) end
  tell_meanwhile(id)
  if whole(r.expires) then agenda().put(r.expires, 'expire', id) end
end

local size, lane, raw = string.match(ARGV[1], '^%d+|(%d+)@?([^|]*)|[^|]*|(.*)$')
if tonumber(size) ~= #raw then return 'cut' end
if call('LREM', KEY.unreadable, 1, ARGV[1]) == 0 then return 'gone' end
lane = lane == '' and QUEUE or string.gsub(lane, '%%%x%x', {['%25'] = '%', ['%7C'] = '|'})
on_lane('RPUSH', lane, raw)
if own(raw) then each_task(own(raw), lane, nil, look_again) end
ring(lane)
return 'back'
