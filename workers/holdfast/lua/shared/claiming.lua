-- use: record lane journal
-- A claim is `delivery:incarnation:request`. What the puller gets of each is one flat row (see broker/redis/rows.py).
-- `running` is written first: an error behind it leaves what a renewal mends, never a working task without an owner.
local function row(id, name)
  local r = read(id, 'lane', 'turn', 'delivery', 'attempts', 'crashes', 'max_attempts', 'timeout', 'solo')
  local history, checkpoint = {}, ''
  if r[2] ~= '1' then history = call('LRANGE', T .. 'history:' .. id, 0, -1) end
  if r[3] ~= '1' then checkpoint = call('GET', T .. 'checkpoint:' .. id) or '' end
  return {id, name, r[1], r[2], r[3], r[4] or '0', r[5] or '0', r[6] or '', r[7] or '', r[8] or '',
    call('GET', T .. 'op:' .. id), checkpoint, history}
end

-- `lane` is the task's own, whichever list its entry was found in.
local function claim(id, incarnation, request, lane)
  local delivery = call('HINCRBY', T .. 'task:' .. id, 'delivery', 1)
  local name = delivery .. ':' .. incarnation .. ':' .. request
  call('HSET', running_of(incarnation), id, name)
  call('RPUSH', last_of(incarnation), id)
  write(id, 'state', 'working', 'owner', incarnation, 'claim', name)
  call('ZREM', T .. 'submitted:' .. lane, id)
  note('claimed', id, name)
  return row(id, name)
end

-- What this request has claimed and still owns.
local function claimed_in(incarnation, request)
  local rows = {}
  for _, id in ipairs(call('LRANGE', last_of(incarnation), 0, -1)) do
    local name = call('HGET', running_of(incarnation), id)
    if name and string.match(name, ':(%d+)$') == tostring(request) then rows[#rows + 1] = row(id, name) end
  end
  return rows
end
