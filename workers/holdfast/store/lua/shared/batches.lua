-- use: task_record journal lane clock damage
-- provides: BAND BANDS batching
-- Batches: a producer submits tasks under one id, and perhaps a callback, which begins when all of them have ended.
-- One sorted set has all tasks of a batch. A task's score is its place (from 1) plus the band of its state. So each task is counted once,
-- however often its end is reported, and each count is a range of the set. The field `batch` of a task's record is `<place, 0 for the
-- callback> <tasks expected> <digest of all> <batch>`. So a lost batch can be made anew from the records of its tasks.
-- A batch is sealed when all tasks that its producer has announced are submitted, or when an operator seals it. A batch ends once: when it
-- is sealed and none of its tasks is open. A retry takes the place of its task.
local BAND = 1099511627776   -- every place is lower
local BANDS = {completed = 1, failed = 2, rejected = 3, canceled = 4, retried = 5, gone = 6}   -- band 0: the task has not ended

-- Defines the functions once in a call, inside one function. Most calls have no task of a batch, and each function of a script costs every
-- call of it.
local made_batching
local function batching()
  if made_batching then return made_batching end
  local whole, opened = {}, {}   -- batches that this call has found undamaged; batches that it has found or made

  local function parse(field) return string.match(field or '', '^(%d+) (%d+) (%x+) (.+)$') end

  -- The facts of a batch; none if the batch is unknown or damaged.
  local function facts_of(batch)
    local r = redis.pcall('HMGET', KEY.batch .. batch, 'digest', 'expected', 'submitted', 'sealed', 'ended', 'callback', 'sealed_by')
    if r.err then r = {} end
    return {digest = r[1], expected = tonumber(r[2] or nil) or 0, submitted = tonumber(r[3] or nil) or 0, sealed = r[4], ended = r[5],
      callback = r[6], sealed_by = r[7]}
  end

  -- The number of a batch's tasks in a band; nil if somebody has damaged the set.
  local function count_in(batch, band)
    local n = redis.pcall('ZCOUNT', KEY.batch_tasks .. batch, band * BAND, '(' .. (band + 1) * BAND)
    return type(n) == 'number' and n or nil
  end

  local function score_of(id, batch)
    local score = redis.pcall('ZSCORE', KEY.batch_tasks .. batch, id)
    return type(score) == 'string' and tonumber(score) or nil
  end

  -- Begins the callback, once. If it waits for other tasks as well, the last of them begins it.
  local function begin_callback(id, batch)
    local flaw = flaw_of(id)
    if flaw then return set_task_aside(id, flaw) end   -- its tie stays, so this can be done after a repair
    local r = read(id, 'state', 'waits_for', 'begins')
    if redis.pcall('SREM', KEY.ties .. id, 'callback|' .. batch) ~= 1 then
      if r[1] ~= 'waiting' or r[2] ~= '0' then return end   -- else an error has ended an earlier call between the cut of the tie and the beginning
      r[2] = '1'
    end
    if not r[1] then return end   -- somebody has deleted its record
    local left = (tonumber(r[2] or nil) or 1) - 1
    write(id, 'waits_for', left)
    if left > 0 or r[1] ~= 'waiting' then return end
    leave_index(id, 'waiting')
    note('ready', id, 'batch ' .. batch)
    begin(id, tonumber(r[3] or nil) or 0)
  end

  -- Ends a batch if it is sealed and none of its tasks is open.
  local function end_if_over(batch)
    local r = facts_of(batch)
    if not r.sealed or r.ended or count_in(batch, 0) ~= 0 then return end
    if r.callback then attempt(begin_callback, r.callback, batch) end   -- first, so that the batch is ended again after an error
    call('ZADD', KEY.batches_ended, NOW, batch)
    call('HSET', KEY.batch .. batch, 'ended', NOW)
    call('ZREM', KEY.batch_looks, batch)
    tell('batch-ended', batch, r.submitted)
    tell_waiters('batch|' .. batch, 'ended')
  end

  -- Counts the end of a task, once. `how`: its state, or `gone` if its record was deleted before its end was counted. Answers true if this
  -- call has counted it.
  local function count_end(id, batch, how)
    local score, band = score_of(id, batch), BANDS[how]
    if not (score and band) or score >= BAND then return false end
    call('ZADD', KEY.batch_tasks .. batch, 'XX', score + band * BAND, id)
    end_if_over(batch)
    return true
  end

  -- Seals a batch. Answers true if it was not sealed before.
  local function seal(batch, by)
    local r = facts_of(batch)
    if not r.digest or r.sealed then return false end
    call('HSET', KEY.batch .. batch, 'sealed', NOW, 'sealed_by', by)
    tell('batch-sealed', batch, r.submitted .. ' ' .. by)
    end_if_over(batch)
    return true
  end

  local function open(batch, expected, digest)
    if opened[batch] or call('EXISTS', KEY.batch .. batch) == 1 then
      opened[batch] = true
      return
    end
    call('ZADD', KEY.batches, NOW, batch)
    call('ZADD', KEY.batch_looks, NOW, batch)
    call('HSET', KEY.batch .. batch, 'created', NOW, 'digest', digest, 'expected', expected)   -- in one command with its digest: see is_damaged
  end

  -- How many tasks of a batch were submitted. A task and its retries count as one. This is counted from the set each time, so a wrong
  -- number that somebody wrote, or that an error left, has no lasting effect.
  local function number_of(batch)
    local tasks = KEY.batch_tasks .. batch
    return call('ZCARD', tasks) - call('ZCOUNT', tasks, BANDS.retried * BAND, '(' .. (BANDS.retried + 1) * BAND)
  end

  local function describe(batch, expected, digest)
    call('HSET', KEY.batch .. batch, 'digest', digest, 'expected', expected, 'submitted', number_of(batch))
  end

  -- Puts a task into its batch, at the place that its record names. `band`: that of its state (0: it has not ended).
  local function put(id, field, band)
    local place, expected, digest, batch = parse(field)
    open(batch, expected, digest)
    if place == '0' then
      call('HSET', KEY.batch .. batch, 'callback', id)
    elseif not score_of(id, batch) then
      call('ZADD', KEY.batch_tasks .. batch, place + band * BAND, id)
    end
    describe(batch, expected, digest)
    return batch, place
  end

  -- Seals a batch if all its tasks were submitted.
  local function seal_if_full(batch)
    local r = facts_of(batch)
    if r.submitted >= r.expected then seal(batch, 'producer') end
  end

  -- True if a key of the batch holds another type, or if its digest is missing.
  local function is_damaged(batch)
    if whole[batch] then return false end
    local facts = redis.pcall('HLEN', KEY.batch .. batch)
    local is_whole = type(facts) == 'number' and (facts == 0 or call('HEXISTS', KEY.batch .. batch, 'digest') == 1)
    whole[batch] = is_whole and type(redis.pcall('ZCARD', KEY.batch_tasks .. batch)) == 'number'
    return not whole[batch]
  end

  -- Puts a task that a ledger restores back into its batch; a lost batch is made anew. `t`: fields of the task's record.
  local function put_back(id, t)
    local place, _, _, batch = parse(t.batch)
    if not place or is_damaged(batch) then return end
    put(id, t.batch, t.retried_as and BANDS.retried or 0)
    if place == '0' then
      if facts_of(batch).ended then begin_callback(id, batch) end
      return
    end
    local before = t.retry_of and score_of(t.retry_of, batch)
    if before and before < BANDS.retried * BAND then   -- this Redis has forgotten the retry, but not the task
      call('ZADD', KEY.batch_tasks .. batch, 'XX', place + BANDS.retried * BAND, t.retry_of)
      call('HSET', KEY.batch .. batch, 'submitted', number_of(batch))
    end
    count_end(id, batch, t.state)
    seal_if_full(batch)
  end

  -- Does the same for a task that is here, if its batch is gone, or was damaged when the task was restored.
  local function put_back_again(id)
    local r = read(id, 'batch', 'state', 'retried_as', 'retry_of')
    local place, _, _, batch = parse(r[1])
    if not place or facts_of(batch).callback == id or score_of(id, batch) then return end
    put_back(id, {batch = r[1], state = r[2], retried_as = r[3] or nil, retry_of = r[4] or nil})
  end

  -- The word of the refusal if a submission cannot become a task of this batch; nil if it can. batch-closed: an operator has sealed or
  -- canceled the batch before all its tasks had come. taken: the task exists, without a batch or in another one. damaged: see is_damaged.
  -- duplicate: also a deleted task that comes again after all tasks had come.
  local function refusal(id, field)
    local place, _, digest, batch = parse(field)
    if is_damaged(batch) then return 'damaged' end
    local r = facts_of(batch)
    if r.digest and r.digest ~= digest then return 'other-batch' end
    if r.callback == id or score_of(id, batch) then return 'duplicate' end
    if r.sealed_by == 'producer' and place ~= '0' then return 'duplicate' end
    if call('EXISTS', KEY.task .. id) == 1 then return read(id, 'batch')[1] == field and 'duplicate' or 'taken' end
    if r.sealed and place ~= '0' then return 'batch-closed' end
  end

  -- Adds a new task to its batch. Answers true if it is the callback and has to wait for the end of the batch.
  local function join(id, field)
    write(id, 'batch', field)
    local batch, place = put(id, field, 0)
    call('SADD', KEY.ties .. id, (place == '0' and 'callback|' or 'batch|') .. batch)
    seal_if_full(batch)
    if place ~= '0' then return false end
    if not facts_of(batch).ended then return true end
    call('SREM', KEY.ties .. id, 'callback|' .. batch)
    return false
  end

  -- Gives the place of a task that has ended to its retry, which is open.
  local function replace(id, new)
    local field = read(id, 'batch')[1]
    local place, _, _, batch = parse(field)
    if not place then return end
    write(new, 'batch', field)
    local score = score_of(id, batch)
    if place == '0' or not score then return end
    call('ZADD', KEY.batch_tasks .. batch, 'XX', place + BANDS.retried * BAND, id)
    call('ZADD', KEY.batch_tasks .. batch, place, new)
    call('HSET', KEY.batch .. batch, 'submitted', number_of(batch))
    call('SADD', KEY.ties .. new, 'batch|' .. batch)
  end

  local function batch_of(field) return (select(4, parse(field))) end

  made_batching = {parse = parse, facts_of = facts_of, is_damaged = is_damaged, count_in = count_in, count_end = count_end, end_if_over = end_if_over, seal = seal,
    put_back = put_back, put_back_again = put_back_again, begin_callback = begin_callback, refusal = refusal, join = join, replace = replace, batch_of = batch_of}
  return made_batching
end
