-- use: fast_record clock journal lane envelope serving_workers constants workers
-- provides: read_foreign write_foreign
-- The fast way for a usual foreign entry: `run` of an unknown task, for a handler that this worker has. The task is accepted and claimed in
-- one step. This is used only if the pull claims nothing else, as pulls of idle workers do.

-- Reads a foreign entry. Answers task id, message id and handler name ('': none); nil if the entry is unusual.
local function read_foreign(raw, names)
  if #raw > READ_BYTES or string.find(raw, '{"_b":"', 1, true) == 1 then return nil end
  local verb, id, message, name = envelope_reader()(raw)
  if verb ~= 'run' or not has_name(names, name) or call('EXISTS', KEY.task .. id, KEY.cancels) > 0 then return nil end
  return id, message, name
end

-- Accepts and claims the task of a foreign entry. The task gets the number of the entry before it. `running` is written first, and the
-- entry is popped last (see fast_pull). Answers its short row.
local function write_foreign(raw, lane, id, message, name, owner, claim)
  local seq, option = call('HGET', KEY.heads, lane) or '0', name ~= '' and {'name', name} or {}
  local fields = number_of_fields(option[1])
  call('HSET', running_of(owner), id, claim)
  call('SET', KEY.op .. id, raw)
  call('HSET', KEY.task .. id, 'state', 'working', 'lane', lane, 'turn', '1', 'message', message, 'digest', 'f' .. redis.sha1hex(raw),
    'seq', seq, 'origin', 'foreign', 'created', NOW, 'owner', owner, 'claim', claim, 'delivery', '1',
    'claimed', fields .. ' ' .. NOW .. ' ' .. claim, unpack(option))
  count('accepted')
  tell('accepted', id, 'foreign')
  tell('claimed', id, claim)
  call('LPOP', list_of(lane))
  call('HSET', KEY.heads, lane, seq)
  return {id, claim, lane, '', '', raw, 0}
end
