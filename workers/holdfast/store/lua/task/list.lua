-- A page of tasks without payloads: of some states, a lane, a handler's name, an age. Looks at so many records at most.
-- KEYS: the public queue. ARGV: cursor ('' to begin), limit, lane, name ('' for any), older, newer (ms since a task was
--       accepted: at least, at most; '' for whenever), states.
-- Answers: {cursor ('' at the end), id, record as pairs, dead (1 or 0), pending, …}. A cursor is where the last look was:
--       index, score, id on lines of their own. It stays good when its task is gone: a list goes on at its neighbour.
-- flags: no-writes, allow-oom
-- use: task_record clock
local LOOKS, WINDOW, LARGEST = 400, 100, 100   -- some milliseconds of the server: others wait for as long
local limit, lane, name, older, newer = math.min(tonumber(ARGV[2]), LARGEST), ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local from, from_score, from_id = string.match(ARGV[1], '^([^\n]*)\n([^\n]*)\n([^\n]*)$')
local last_created, first_created = older and NOW - older, newer and NOW - newer
local wanted = {}
for i = 7, #ARGV do wanted[ARGV[i]] = true end

-- True if a task may be in one of these states: the tally of parked and ended tasks spares a look.
local function any(states)
  for state in pairs(states) do
    if wanted[state] and tonumber(call('HGET', KEY.tally, state) or '0') > 0 then return true end
  end
end

local ENDED = '5' .. NAME.finished

-- The number in front puts the indexes in order, so that a cursor whose index is gone still has its place.
local function indexes()
  local found, lanes = {}, {}
  if wanted.working then
    for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do found[#found + 1] = '1' .. NAME.worker .. incarnation .. NAME.of_running end
  end
  if wanted.submitted then
    for _, index in ipairs({NAME.seq, NAME.heads}) do
      for _, each in ipairs(call('HKEYS', T .. index)) do lanes[each] = lane == '' or lane == each end
    end
  end
  for each, listed in pairs(lanes) do
    if listed then found[#found + 1] = '2' .. NAME.submitted .. each end
  end
  if wanted.delayed then found[#found + 1] = '3' .. NAME.due end
  if wanted.waiting then found[#found + 1] = '3' .. NAME.waiting end
  if any(PARKED) then found[#found + 1] = '4' .. NAME.parked end
  if any(TERMINAL) then found[#found + 1] = ENDED end
  table.sort(found)
  return found
end

-- Ids and scores of a window, as pairs; what ended is shown newest first. A worker's tasks are few: one window.
local function window(index, start)
  local key = T .. string.sub(index, 2)
  if index == ENDED then return call('ZRANGE', key, start, start + WINDOW - 1, 'REV', 'WITHSCORES') end
  if string.sub(index, 1, 1) ~= '1' then return call('ZRANGE', key, start, start + WINDOW - 1, 'WITHSCORES') end
  local ids, pairs_of = call('HKEYS', key), {}
  table.sort(ids)
  for i = start + 1, #ids do
    pairs_of[#pairs_of + 1] = ids[i]
    pairs_of[#pairs_of + 1] = '0'
  end
  return pairs_of
end

-- The place in its index where a list goes on.
local function beginning(index)
  if index ~= from or string.sub(index, 1, 1) == '1' then return 0 end
  local key, backwards = T .. string.sub(index, 2), index == ENDED
  if call('ZSCORE', key, from_id) == from_score then return call(backwards and 'ZREVRANK' or 'ZRANK', key, from_id) + 1 end
  if backwards then return call('ZCOUNT', key, '(' .. from_score, '+inf') end
  return call('ZCOUNT', key, '-inf', '(' .. from_score)
end

-- True if this place was listed before: tasks with the cursor's score are in the order of ids.
local function passed(index, score, id)
  if index ~= from or score ~= from_score then return false end
  if index == ENDED then return id >= from_id end
  return id <= from_id
end

local function fits(id)
  local r = read(id, 'state', 'lane', 'name', 'created')
  if not wanted[r[1]] or (lane ~= '' and r[2] ~= lane) or (name ~= '' and r[3] ~= name) then return false end
  local created = tonumber(r[4])
  return not ((last_created and created > last_created) or (first_created and created < first_created))
end

local answer, looked, last = {''}, 0, nil

local function show(id)
  for _, item in ipairs({id, call('HGETALL', KEY.task .. id), call('ZSCORE', KEY.dead, id) and 1 or 0,
    call('LLEN', KEY.pending .. id)}) do answer[#answer + 1] = item end
end

-- True if there is room for more. A task that ended before a time was accepted before it: there is no more behind it.
local function look_through(index)
  local start = beginning(index)
  while true do
    local found = window(index, start)
    for i = 1, #found, 2 do
      local id, score = found[i], found[i + 1]
      if index == ENDED and first_created and tonumber(score) < first_created then return true end
      if not passed(index, score, id) then
        if looked >= LOOKS or #answer > limit * 4 then return false end
        looked, last = looked + 1, index .. '\n' .. score .. '\n' .. id
        if fits(id) then show(id) end
      end
    end
    if #found < WINDOW * 2 or string.sub(index, 1, 1) == '1' then return true end
    start = start + WINDOW
  end
end

for _, index in ipairs(indexes()) do
  if not from or index >= from then
    if not look_through(index) then
      answer[1] = last
      break
    end
  end
end
return answer
