-- use: task_record lane journal damage agenda clock constants
-- provides: remember_death forget_deaths clear_others
-- Tasks that shared the death of a worker. The hash `death:<incarnation>` has task id → `crash` or `recovery`, as the death counted for
-- that task.
-- The field `deaths` of a task's record names the last such deaths. When a suspect ends its quarantine worker alone, it was the cause. Then
-- these deaths no longer count for the other tasks that shared them.
local SHARED = 128        -- the most tasks that are noted for one death
local DEATHS = 8          -- the most deaths that a task's record names
local DEATHS_KEPT = 1000  -- the most deaths that are kept, for at most a day
local FORGOTTEN = 16      -- deaths that are deleted in one step
local DEATH_MS = 86400000

local function remember_death(id, incarnation, counted)
  local key = KEY.death .. incarnation
  if TERMINAL[read(id, 'state')[1]] or call('HLEN', key) >= SHARED then return end
  call('HSET', key, id, counted and 'crash' or 'recovery')
  call('ZADD', KEY.deaths, NOW, incarnation)
  local names = {}
  for name in string.gmatch(read(id, 'deaths')[1] or '', '%S+') do names[#names + 1] = name end
  names[#names + 1] = incarnation
  write(id, 'deaths', table.concat(names, ' ', math.max(1, #names - DEATHS + 1)))
end

local function forget_death(incarnation)
  call('UNLINK', KEY.death .. incarnation)
  call('ZREM', KEY.deaths, incarnation)
end

local function forget_deaths()
  for _, one in ipairs(call('ZRANGEBYSCORE', KEY.deaths, '-inf', NOW - DEATH_MS, 'LIMIT', 0, FORGOTTEN)) do forget_death(one) end
  local most = math.min(FORGOTTEN, call('ZCARD', KEY.deaths) - DEATHS_KEPT)
  if most > 0 then
    for _, one in ipairs(call('ZRANGE', KEY.deaths, 0, most - 1)) do forget_death(one) end
  end
end

-- Makes a suspect an ordinary task again. A submitted task goes to its lane under its old number; a delayed task is due now.
local function let_go_on(id, state, lane)
  if state == 'submitted' then leave_index(id, state, lane) end   -- as the suspect that it still is
  write(id, 'solo', '', 'alone', '')
  if state == 'submitted' then
    to_head(id)
  elseif state == 'delayed' then
    write(id, 'due', NOW)
    call('ZADD', KEY.due, NOW, id)
    alarm(KEY.due, id)
  end
end

-- Takes back what one shared death has counted for a task. Answers true if the task is no longer a suspect.
local function discharge(id, as, by)
  local r = read(id, 'crashes', 'recoveries', 'raised', 'solo')
  local crashes, recoveries = tonumber(r[1] or '0'), math.max(0, tonumber(r[2] or '0') - 1)
  if as == 'crash' then crashes = crashes - 1 end
  if r[3] == '1' and recoveries < SUSPECT_RECOVERIES then
    crashes = crashes - 1
    write(id, 'raised', '')
  end
  crashes = math.max(0, crashes)
  write(id, 'crashes', crashes, 'recoveries', recoveries)
  note('cleared', id, by)
  return r[4] == '1' and crashes < SUSPECT_CRASHES and recoveries < SUSPECT_RECOVERIES
end

local function clear_others(by)
  local free = {}
  for incarnation in string.gmatch(read(by, 'deaths')[1] or '', '%S+') do
    local shared = redis.pcall('HGETALL', KEY.death .. incarnation)   -- an error has no elements
    for i = 1, #shared, 2 do
      local id = shared[i]
      local r = read(id, 'state', 'deaths', 'lane', 'seq')
      local names = string.find(' ' .. (r[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true)
      local free_now = id ~= by and r[1] and not TERMINAL[r[1]] and names and not flaw_in(facts(id)) and each_task(id, nil, nil, discharge, shared[i + 1], by)
      if free_now then
        free[#free + 1] = {id = id, state = r[1], lane = r[3], seq = tonumber(r[4])}
      end
    end
    forget_death(incarnation)
  end
  table.sort(free, function(a, b) return a.seq > b.seq end)   -- they go to the head, so the lowest number is last
  for _, one in ipairs(free) do each_task(one.id, nil, nil, let_go_on, one.state, one.lane) end
end
