-- use: task_record lane journal expiry gates history damage rules workers clock fast_record batches webhook_outbox shared_keys
-- provides: claim claimed_in
-- Claims of tasks. A claim is `delivery:incarnation:request`. A pull answers one flat row for each claim (see store/redis/worker.py).
-- `running` is written first. After an error behind it, the next renewal repairs the task; no working task is ever without an owner.
-- `batch_row`: the batch of a task, its place there, and for a callback the counts of the batch; {} for a task without a batch.
local function batch_row(field)
  if not field then return {} end
  local place, _, _, batch = batching().parse(field)
  if place ~= '0' then return {batch, place} end
  local counts = {batch, place}
  for band = 0, BANDS.gone do counts[#counts + 1] = batching().count_in(batch, band) or 0 end
  return counts
end

local function row(id, name, delivery, r)
  local history, earlier, checkpoint, operation = {}, 0, '', call('GET', KEY.op .. id)
  count_told(#operation)
  if r[2] ~= '1' then history, earlier = turns_before(id, math.huge, turns_asked(operation)) end
  if delivery ~= 1 then checkpoint = call('GET', KEY.checkpoint .. id) or '' end
  count_told(#checkpoint)
  local steps = r[2] ~= '1' and call('EXISTS', KEY.steps .. id) or 0   -- the steps may include a question
  return {id, name, r[1], r[2], tostring(delivery), r[4] or '0', r[5] or '0', r[6] or '', r[7] or '', r[8] or '',
    operation, checkpoint, history, earlier, math.max(0, NOW - (r[17] or r[18] or NOW)), r[19] or '0', r[20] and 1 or 0, steps,
    batch_row(r[21])}
end

-- Claims a task. An expired task is not claimed; a task with a damaged record is set aside. `r`: its facts. The claim of a usual task is
-- noted in its record (see trail). Otherwise its settlement would be unusual, and so would each pull that brings one.
local function claim_one(id, incarnation, request, r)
  local delivery = tonumber(r[3] or '0') + 1
  if r[9] then
    local expiry = expiry()
    if expiry.expire(id, true) then return nil end
    expiry.outlast(id)
  end
  local name = delivery .. ':' .. incarnation .. ':' .. request
  local fields = select(5, read_new(id, r[13]))   -- nil if the record is unusual
  call('HSET', running_of(incarnation), id, name)
  write(id, 'state', 'working', 'owner', incarnation, 'claim', name, 'delivery', delivery)
  shared('ZREM', KEY.submitted .. r[1], id)
  if is_bounded() or r[10] then bounds().occupy(id, r[1], r[10], r[11]) end
  if fields then
    write(id, 'claimed', fields .. ' ' .. NOW .. ' ' .. name)
    tell('claimed', id, name)
  else
    note('claimed', id, name)
    tell_working(id, r[2], r[22])
  end
  return row(id, name, delivery, r)
end

local function claim(id, incarnation, request, r)
  local function leave() call('HDEL', running_of(incarnation), id) end
  return each_task(id, r[1], leave, claim_one, incarnation, request, r)
end

-- The rows of the tasks that this request has claimed and still owns, in the order of claiming, lane by lane.
local function claimed_in(incarnation, request, lanes)
  local rows, rows_of = {}, {}
  for _, lane in ipairs(lanes) do rows_of[lane] = {} end
  local held = owned_last_first(incarnation, function(_, claim) return string.match(claim, ':(%d+)$') == tostring(request) end)
  for i = #held, 1, -1 do
    local r = facts(held[i].id)
    local flaw = flaw_in(r) or flaw_in_content(held[i].id, r[2], r[3])   -- the next renewal then finds that the worker does not hold it
    local of_lane = rows_of[r[1] or ''] or rows   -- tasks of a lane that the worker no longer serves come first
    local went, made = not flaw, nil
    if went then went, made = attempt(row, held[i].id, held[i].claim, tonumber(r[3]), r) end
    if went then of_lane[#of_lane + 1] = made end
  end
  for _, lane in ipairs(lanes) do
    for _, each in ipairs(rows_of[lane]) do rows[#rows + 1] = each end
  end
  return rows
end
