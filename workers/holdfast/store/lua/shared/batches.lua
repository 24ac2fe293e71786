-- use: task_record journal lane clock damage
-- provides: BAND BANDS batching
-- Batches: tasks that one producer submits under one id, and perhaps a task that begins when all of these have ended (the callback).
-- Each task of a batch stands in one sorted set: at its place (from 1), plus the band of its end. So it is counted once, whoever
-- ends it and however often that is told, and the counts are ranges of the set. The record of each says its batch, too: `<place, 0 of
-- the callback> <tasks expected> <digest of all> <batch>`; a batch can be made anew from the records of its tasks.
-- A batch is sealed when as many tasks were submitted as its producer has said, or by an operator. It ends once: when it is sealed
-- and none of its tasks is open. A retry takes the place of its task.
local BAND = 1099511627776   -- places are lower
local BANDS = {completed = 1, failed = 2, rejected = 3, canceled = 4, retried = 5, gone = 6}   -- 0: it has not ended

-- A function that makes functions, once in a call: most calls have no task of a batch, and each function of a script costs every
-- call of it.
local made_batching
local function batching()
  if made_batching then return made_batching end
  local whole, opened = {}, {}   -- batches that this call has found whole, and there

  local function parse(field) return string.match(field or '', '^(%d+) (%d+) (%x+) (.+)$') end

  -- Facts of a batch; none where it is not known, or somebody has damaged it.
  local function facts_of(batch)
    local r = redis.pcall('HMGET', KEY.batch .. batch, 'digest', 'expected', 'submitted', 'sealed', 'ended', 'callback', 'sealed_by')
    if r.err then r = {} end
    return {digest = r[1], expected = tonumber(r[2] or nil) or 0, submitted = tonumber(r[3] or nil) or 0, sealed = r[4], ended = r[5],
      callback = r[6], sealed_by = r[7]}
  end

  -- The number of its tasks in a band; nil where somebody has damaged it.
  local function count_in(batch, band)
    local n = redis.pcall('ZCOUNT', KEY.batch_tasks .. batch, band * BAND, '(' .. (band + 1) * BAND)
    return type(n) == 'number' and n or nil
  end

  local function score_of(id, batch)
    local score = redis.pcall('ZSCORE', KEY.batch_tasks .. batch, id)
    return type(score) == 'string' and tonumber(score) or nil
  end

  -- Begins the callback, once, or leaves it to the last task that it waits for besides.
  local function begin_callback(id, batch)
    local flaw = flaw_of(id)
    if flaw then return set_task_aside(id, flaw) end   -- its tie stays
    local r = read(id, 'state', 'waits_for', 'begins')
    if redis.pcall('SREM', KEY.ties .. id, 'callback|' .. batch) ~= 1 then
      if r[1] ~= 'waiting' or r[2] ~= '0' then return end   -- an error has cut off what follows
      r[2] = '1'
    end
    if not r[1] then return end   -- its record was deleted by somebody
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
    if r.callback then attempt(begin_callback, r.callback, batch) end   -- first: an error leaves it to be ended again
    call('ZADD', KEY.batches_ended, NOW, batch)
    call('HSET', KEY.batch .. batch, 'ended', NOW)
    call('ZREM', KEY.batch_looks, batch)
    tell('batch-ended', batch, r.submitted)
    tell_waiters('batch|' .. batch, 'ended')
  end

  -- Counts the end of a task: once, and again for nobody. `how`: its state, or `gone` where its record was deleted before.
  local function count_end(id, batch, how)
    local score, band = score_of(id, batch), BANDS[how]
    if not (score and band) or score >= BAND then return false end
    call('ZADD', KEY.batch_tasks .. batch, 'XX', score + band * BAND, id)
    end_if_over(batch)
    return true
  end

  -- Seals a batch; answers whether it was open.
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
    call('HSET', KEY.batch .. batch, 'created', NOW, 'digest', digest, 'expected', expected)   -- with its digest: see is_damaged
  end

  -- How many of its tasks were submitted: those in the set, but a task and its retries are one. It is counted anew each time, so
  -- nothing that was written beside the set by somebody else, or left by an error, is built upon.
  local function number_of(batch)
    local tasks = KEY.batch_tasks .. batch
    return call('ZCARD', tasks) - call('ZCOUNT', tasks, BANDS.retried * BAND, '(' .. (BANDS.retried + 1) * BAND)
  end

  local function describe(batch, expected, digest)
    call('HSET', KEY.batch .. batch, 'digest', digest, 'expected', expected, 'submitted', number_of(batch))
  end

  -- Puts a task into its batch, at the place that its record names, in the band of the end that it has come to (0: none).
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

  -- Seals a batch of which all tasks are there.
  local function seal_if_full(batch)
    local r = facts_of(batch)
    if r.submitted >= r.expected then seal(batch, 'producer') end
  end

  -- True if somebody has put something else under a key of the batch, or has taken its digest away.
  local function is_damaged(batch)
    if whole[batch] then return false end
    local facts = redis.pcall('HLEN', KEY.batch .. batch)
    local is_whole = type(facts) == 'number' and (facts == 0 or call('HEXISTS', KEY.batch .. batch, 'digest') == 1)
    whole[batch] = is_whole and type(redis.pcall('ZCARD', KEY.batch_tasks .. batch)) == 'number'
    return not whole[batch]
  end

  -- Puts a task back into its batch, as a ledger has it: the batch is made anew from its tasks. `t`: fields of its record.
  local function put_back(id, t)
    local place, _, _, batch = parse(t.batch)
    if not place or is_damaged(batch) then return end
    put(id, t.batch, t.retried_as and BANDS.retried or 0)
    if place == '0' then
      if facts_of(batch).ended then begin_callback(id, batch) end
      return
    end
    local before = t.retry_of and score_of(t.retry_of, batch)
    if before and before < BANDS.retried * BAND then   -- this retry was forgotten here, not its task
      call('ZADD', KEY.batch_tasks .. batch, 'XX', place + BANDS.retried * BAND, t.retry_of)
      call('HSET', KEY.batch .. batch, 'submitted', number_of(batch))
    end
    count_end(id, batch, t.state)
    seal_if_full(batch)
  end

  -- The same of a task that is here, where its batch was damaged when it was put back, or is gone.
  local function put_back_again(id)
    local r = read(id, 'batch', 'state', 'retried_as', 'retry_of')
    local place, _, _, batch = parse(r[1])
    if not place or facts_of(batch).callback == id or score_of(id, batch) then return end
    put_back(id, {batch = r[1], state = r[2], retried_as = r[3] or nil, retry_of = r[4] or nil})
  end

  -- Why a submission is not to be made as a task of this batch; nil if it is.
  -- closed: an operator has sealed or canceled the batch before all its tasks had come. taken: the task is there, and of no or another batch.
  -- damaged: see is_damaged. A task that is not there comes again where all had come: it was deleted.
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

  -- Makes a new task one of its batch. Answers whether it waits for the end of the batch: it is the callback.
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

  -- A retry takes the place of its task, which has ended, and is open.
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
