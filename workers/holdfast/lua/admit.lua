-- Take the entry at the head of a worker's inbox as the worker has read it (entries too large to be decoded here).
-- KEYS: the public queue. ARGV: incarnation, SHA-1 of the entry, verb or `unreadable`, task id, message id, reason.
-- Answers: new, turn, pending, duplicate, set-aside, the state after a control verb, or gone (admitted before).
-- Keeps: I6: the entry leaves the inbox only after it became a task, a message or set aside.
-- flags: allow-oom
-- use: record lane journal aside message control
local incarnation, sha, verb, id, message, reason = unpack(ARGV)
local inbox = inbox_of(incarnation)
local head = call('LINDEX', inbox, 0)
if not head then return 'gone' end
local lane, raw = string.match(head, '^([^\n]*)\n(.*)$')
if redis.sha1hex(raw) ~= sha then return 'gone' end

local CONTROL = {cancel = cancel, pause = pause, resume = resume}

local function admit_run()
  local digest = 'f' .. sha
  if call('EXISTS', T .. 'task:' .. id) == 1 then
    local verdict = deliver_message(id, raw, message, digest)
    if verdict ~= 'terminal' and verdict ~= 'conflict' then return verdict end
    set_aside(verdict == 'terminal' and ('task ' .. id .. ' has ended') or ('message ' .. message .. ' came before with other content'), raw,
      lane)
    return 'set-aside'
  end
  call('HSETNX', T .. 'heads', lane, 0)
  create(id, lane, raw, message, digest, 'foreign', call('HGET', T .. 'heads', lane))
  to_head(id)
  return 'new'
end

local function admit()
  if verb == 'run' then return admit_run() end
  if CONTROL[verb] then
    local state = CONTROL[verb](id, 'asked on the queue')
    if state ~= 'unknown' then return state end
    reason = verb .. ' of an unknown task'
  end
  set_aside(reason, raw, lane)
  return 'set-aside'
end

local answer = admit()
call('LPOP', inbox)
return answer
