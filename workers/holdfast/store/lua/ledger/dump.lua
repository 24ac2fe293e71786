-- Whole tasks, at one moment, as `restore` takes them.
-- KEYS: the public queue. ARGV: the ledger's epoch ('' for who is none), the last event it has seen ('' for none), how many bytes of
--       content end the answer, task ids; unknown ones are left out.
-- Answers: elsewhere: this Redis is not (any more) what that ledger follows or rebuilds. Or {the last event of all ('' for none),
--       time (ms), tasks, ids of those that somebody has damaged, how many of the ids were looked at: at least one}; a task is
--       {id, record as pairs, moment it became a dead letter ('' if it is none), operation, history, result of its turn, pending,
--       message ids and digests as pairs, checkpoint, trail, ties, its webhooks that wait: name, turn, state, URL and moment of each}.
-- flags: no-writes, allow-oom
-- use: clock task_record webhook_outbox ledger_standing damage
if ARGV[1] ~= '' and not is_believed(ARGV[1], ARGV[2]) then return 'elsewhere' end
local most, bytes, looked = tonumber(ARGV[3]), 0, 0

local function weigh(items)
  for _, item in ipairs(items) do bytes = bytes + #item end
  return items
end

local TOLD = call('EXISTS', KEY.webhooks) == 0

local function dumped(id)
  local record = weigh(call('HGETALL', KEY.task .. id))
  if #record == 0 then return end
  local result = KEY.result .. id .. ':' .. (read(id, 'turn')[1] or '')
  local texts = weigh({call('GET', KEY.op .. id) or '', call('GET', result) or '', call('GET', KEY.checkpoint .. id) or ''})
  return {
    id, record, call('ZSCORE', KEY.dead, id) or '', texts[1], weigh(call('LRANGE', KEY.history .. id, 0, -1)), texts[2],
    weigh(call('LRANGE', KEY.pending .. id, 0, -1)), weigh(call('HGETALL', KEY.messages .. id)), texts[3],
    weigh(call('LRANGE', KEY.trail .. id, 0, -1)), call('SMEMBERS', KEY.ties .. id), TOLD and {} or outbox().of(id),
  }
end

local tasks, damaged = {}, {}
for i = 4, #ARGV do
  if bytes >= most then break end
  local id = ARGV[i]
  local whole, task = pcall(dumped, id)
  if not whole and not is_wrong_type(task) then error(task) end
  if not whole or (task and flaw_in(facts(id))) then damaged[#damaged + 1] = id
  elseif task then tasks[#tasks + 1] = task end
  looked = looked + 1
end
local last = call('XREVRANGE', KEY.events, '+', '-', 'COUNT', 1)[1]
return {last and last[1] or '', NOW, tasks, damaged, looked}
