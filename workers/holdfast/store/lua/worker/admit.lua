-- Take the first entry of a worker's inbox, as the worker has parsed it. The inbox has entries that are too large to be decoded here.
-- KEYS: the public queue. ARGV: incarnation, SHA-1 of the entry, verb or `unreadable`, task id, message id ('' for an order without a
--       message), reason, handler's name.
-- Answers: new, turn, pending, duplicate; set-aside; after an order the state of its task; unknown: a cancel whose task has not come yet,
--       kept for a while; or gone: the entry was admitted before.
-- Keeps: I6: the entry leaves the inbox only after it was made a task or a message, or was set aside.
-- flags: allow-oom
-- use: task_record lane journal messages task_control damage workers
local incarnation, sha, verb, id, message, reason, name = unpack(ARGV)
local inbox = inbox_of(incarnation)
local head = call('LINDEX', inbox, 0)
if not head then return 'gone' end
local lane, raw = string.match(head, '^([^\n]*)\n(.*)$')
if redis.sha1hex(raw) ~= sha then return 'gone' end

local digest = 'f' .. sha

local function admit_run()
  if call('EXISTS', KEY.task .. id) == 1 then
    local verdict = deliver_message(id, raw, message, digest)
    if verdict ~= 'duplicate' or not unmake(id) then return verdict end
  end
  call('HSETNX', KEY.heads, lane, 0)
  create(id, lane, raw, message, digest, 'foreign', call('HGET', KEY.heads, lane))
  if name ~= '' then write(id, 'name', name) end
  if not canceled_early(id) then to_head(id) end
  return 'new'
end

local function admit()
  if verb ~= 'unreadable' and is_for_damaged(id, raw, lane) then return 'set-aside' end
  if message ~= '' then
    local verdict = verb == 'run' and admit_run() or answer_task(id, raw, message, digest)
    return refuse(verdict, id, message, raw, lane) and 'set-aside' or verdict
  end
  if CONTROL[verb] then
    local state = CONTROL[verb](id, 'asked on the queue')
    if state ~= 'unknown' or verb == 'cancel' then return state end
    reason = verb .. UNKNOWN
  end
  set_aside(reason, raw, lane)
  return 'set-aside'
end

local answer = admit()
call('LPOP', inbox)
return answer
