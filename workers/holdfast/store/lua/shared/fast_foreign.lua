-- use: fast_record clock journal lane envelope serving_workers limits workers
-- provides: read_foreign write_foreign
-- The usual foreign entry: the run of a task that is not known, for a handler that this worker has. It is accepted and claimed in one
-- step, where nothing else is claimed, as workers at rest do.

-- Answers task id, message id and handler name ('': none); or nil.
local function read_foreign(raw, names)
  if #raw > READ_BYTES or string.find(raw, '{"_b":"', 1, true) == 1 then return nil end
  local verb, id, message, name = envelope_reader()(raw)
  if verb ~= 'run' or not has_name(names, name) or call('EXISTS', KEY.task .. id, KEY.cancels) > 0 then return nil end
  return id, message, name
end

-- It takes the sequence of the entry before it. `running` comes first, and the entry is popped last (see fast_pull). Answers its short row.
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
