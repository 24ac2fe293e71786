-- Read whole tasks at one moment, in the form that `restore` takes.
-- KEYS: the public queue. ARGV: the ledger's epoch ('' for a caller that is no ledger), the last event that it has seen ('' for
--       none), the bytes of content after which the answer ends, task ids; unknown ones are left out.
-- Answers: elsewhere: that ledger neither follows nor rebuilds this Redis. Or {the last event of all ('' for none), time (ms), tasks, ids of
--       tasks with damaged records, how many ids were read (at least one)}.
--       A task: {id, record as pairs, the moment it became a dead letter ('' if it is none), operation, history, result of its turn, pending
--       messages, message ids and digests as pairs, checkpoint, trail, ties, webhooks that wait (name, turn, state, URL and moment of each),
--       steps (place and text of each), parents (id, place and when it ended, state, reason, turn, result of each)}.
-- flags: no-writes, allow-oom
-- use: clock task_record webhook_outbox ledger_standing damage trail parent_results
if ARGV[1] ~= '' and not is_believed(ARGV[1], ARGV[2]) then return 'elsewhere' end
local most, bytes, looked = tonumber(ARGV[3]), 0, 0

local function weigh(items)
  for _, item in ipairs(items) do bytes = bytes + #item end
  return items
end

local TOLD = call('EXISTS', KEY.webhooks) == 0

-- The fields of the record, without those that the trail shows.
local function record_of(id)
  local record = call('HGETALL', KEY.task .. id)
  for i = 1, #record, 2 do
    if record[i] == 'claimed' then
      table.remove(record, i)
      table.remove(record, i)
      break
    end
  end
  return record
end

local function parents_of(id)
  local results, parents = parent_results(), {}
  local known = results.parents_of(id)
  for i = 1, #known, 2 do
    local _, state, reason, turn, result = results.found(known[i], known[i + 1])
    for _, value in ipairs({known[i], known[i + 1], state, reason or '', turn or '', result and call('GET', result) or ''}) do
      parents[#parents + 1] = value
    end
  end
  return parents
end

local function dumped(id)
  local record = weigh(record_of(id))
  if #record == 0 then return end
  local result = KEY.result .. id .. ':' .. (read(id, 'turn')[1] or '')
  local texts = weigh({call('GET', KEY.op .. id) or '', call('GET', result) or '', call('GET', KEY.checkpoint .. id) or ''})
  return {
    id, record, call('ZSCORE', KEY.dead, id) or '', texts[1], weigh(call('LRANGE', KEY.history .. id, 0, -1)), texts[2],
    weigh(call('LRANGE', KEY.pending .. id, 0, -1)), weigh(call('HGETALL', KEY.messages .. id)), texts[3],
    weigh(trail_of(id)), call('SMEMBERS', KEY.ties .. id), TOLD and {} or outbox().of(id),
    weigh(call('HGETALL', KEY.steps .. id)), read(id, 'if_parent_fails')[1] and weigh(parents_of(id)) or {},
  }
end

local tasks, damaged = {}, {}
for i = 4, #ARGV do
  if bytes >= most then break end
  local id = ARGV[i]
  local is_whole, task = attempt(dumped, id)
  local r = task and facts(id)
  local is_new = r and r[12] == 'submitted' and not r[3]
  if not is_whole or (r and flaw_in(r)) or (is_new and is_half_made(id)) or (task and read(id, 'restoring')[1]) then damaged[#damaged + 1] = id
  elseif task then tasks[#tasks + 1] = task end
  looked = looked + 1
end
local last = call('XREVRANGE', KEY.events, '+', '-', 'COUNT', 1)[1]
return {last and last[1] or '', NOW, tasks, damaged, looked}
