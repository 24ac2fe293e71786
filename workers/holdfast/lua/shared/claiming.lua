-- use: record lane journal
-- A claim is `delivery:incarnation:request`. What the puller gets of each is one flat row (see broker/redis/rows.py).
local function claim(id, incarnation, request, lane)
  local delivery = call('HINCRBY', T .. 'task:' .. id, 'delivery', 1)
  local name = delivery .. ':' .. incarnation .. ':' .. request
  write(id, 'state', 'working', 'owner', incarnation, 'claim', name)
  call('ZREM', T .. 'submitted:' .. lane, id)
  call('HSET', running_of(incarnation), id, name)
  call('RPUSH', last_of(incarnation), id)
  note('claimed', id, name)
end

local function row(id)
  local r = read(id, 'claim', 'lane', 'turn', 'delivery', 'attempts', 'crashes', 'max_attempts', 'timeout', 'solo')
  local history = {}
  if r[3] ~= '1' then history = call('LRANGE', T .. 'history:' .. id, 0, -1) end
  return {id, r[1], r[2], r[3], r[4], r[5] or '0', r[6] or '0', r[7] or '', r[8] or '', r[9] or '',
    call('GET', T .. 'op:' .. id), call('GET', T .. 'checkpoint:' .. id) or '', history}
end

local function claimed_in(incarnation, request)
  local rows = {}
  for _, id in ipairs(call('LRANGE', last_of(incarnation), 0, -1)) do
    local name = call('HGET', running_of(incarnation), id)
    if name and string.match(name, ':(%d+)$') == tostring(request) then rows[#rows + 1] = row(id) end
  end
  return rows
end
