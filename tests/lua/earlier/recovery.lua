-- use: task_record lane journal task_end gates pause_requests
-- Put back what an incarnation owned. Its tombstone comes first: dead or unknown, it never claims again.
local TOMBSTONE_MS = 86400000
local NAMED = 8   -- tasks that a tombstone names

local function crash(id, cause, claim)
  local crashes = call('HINCRBY', T .. 'task:' .. id, 'crashes', 1)
  local solo = read(id, 'solo')[1] == '1'
  note('crashed', id, crashes .. ' ' .. cause .. ' ' .. claim)
  count('crashes')
  if solo and call('HINCRBY', T .. 'task:' .. id, 'solo_crashes', 1) >= SOLO_CRASHES then
    call('ZADD', T .. 'dead', NOW, id)
    count('dead')
    finish(id, 'failed', 'ended its worker ' .. crashes .. ' times', has_rest(id))
    note('dead-letter', id, crashes .. ' crashes')
  elseif crashes == 1 then
    to_head(id)
  else
    write(id, 'solo', '1')
    to_later(id, NOW + math.min(1000 * 5 ^ (crashes - 1), 25000))
  end
end

-- The claim stays on the record: a late commit of the last owner counts as long as nobody claims anew.
local function recover_task(id, cause, charged, claim)
  local r = read(id, 'state', 'claim')
  if r[1] ~= 'working' or r[2] ~= claim then return end
  write(id, 'owner', '')
  bounds().vacate(id)
  if charged then
    crash(id, cause, claim)
  else
    note('recovered', id, cause .. ' ' .. claim)
    to_head(id)
  end
  carry_out_pause(id, claim)
end

-- Entries that no worker has read yet go back as they came.
local function return_inbox(incarnation)
  local entries = call('LRANGE', inbox_of(incarnation), 0, -1)
  for i = #entries, 1, -1 do
    local lane, raw = string.match(entries[i], '^([^\n]*)\n(.*)$')
    on_lane('LPUSH', lane, raw)
    ring(lane)
  end
  call('DEL', inbox_of(incarnation))
end

local function recover(incarnation, cause, charged)
  local worker = T .. 'worker:' .. incarnation
  if call('HGET', worker, 'state') == 'dead' and call('EXISTS', running_of(incarnation)) == 0 then return 0 end
  call('HSET', worker, 'state', 'dead', 'cause', cause, 'died', NOW)
  call('PEXPIRE', worker, TOMBSTONE_MS)
  call('ZREM', T .. 'workers', incarnation)
  local held, named = owned_last_first(incarnation), {}
  for i = #held, math.max(1, #held - NAMED + 1), -1 do named[#named + 1] = held[i].id end
  call('HSET', worker, 'held', table.concat(named, ' '))
  for _, task in ipairs(held) do
    recover_task(task.id, cause, charged, task.claim)
    call('HDEL', running_of(incarnation), task.id)
  end
  return_inbox(incarnation)
  ring_for_solo(call('HGET', worker, 'solo'))
  call('DEL', T .. 'control:' .. incarnation)
  count('recovered', #held)
  tell('worker-died', incarnation, cause .. ' ' .. #held)
  return #held
end
