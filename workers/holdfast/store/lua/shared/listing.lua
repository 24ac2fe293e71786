-- use: task_record batches clock shared_keys
-- provides: answer_of
-- The tasks that a list or a search asks for, after a cursor. The filter has states, a lane, a handler's name, an age, a batch, a
-- worker and a kind of error. The tasks are read from the smallest index: the worker's, the batch's, the kind's, or those of the states.
-- ARGV: cursor ('' to begin), limit, lane, name ('' for any), the lowest age, the highest age (ms since a task was accepted; '' for any),
--       batch, worker, kind of error (each '' for any), newest (1: the last of each state first; else in the order of the queue), text,
--       states.
-- A cursor is the place of the last task that was looked at: index, score and id, one on each line. It stays good after this task is gone:
-- the list continues with its neighbour.
local LOOKS, WINDOW, LARGEST = 200, 100, 100   -- records, places read at once, and tasks of one page: some milliseconds, in which other clients wait
local TEXT_BYTES = 524288   -- texts of tasks that one step reads
local limit, lane, name, older, newer = math.min(tonumber(ARGV[2]), LARGEST), ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
local batch, owner, kind, newest = ARGV[7], ARGV[8], ARGV[9], ARGV[10] == '1'
local from, from_score, from_id = string.match(ARGV[1], '^([^\n]*)\n([^\n]*)\n([^\n]*)$')
local last_created, first_created = older and NOW - older, newer and NOW - newer
local wanted = {}
for i = 12, #ARGV do wanted[ARGV[i]] = true end

-- True if some task may be in one of these states. The counts of parked and ended tasks make a look at their indexes unnecessary.
local function any(states)
  for state in pairs(states) do
    if wanted[state] and tonumber(call('HGET', KEY.tally, state) or '0') > 0 then return true end
  end
end

local ENDED = '5' .. NAME.finished

-- The bands of a batch that may hold a task in a wanted state; each is an index. A retry stands at the place of a task that did not
-- complete.
local function bands_of_batch()
  local found, ended = {}, {}
  for state in pairs(wanted) do
    local band = BANDS[state] or 0
    found[band] = true
    if band > 1 then found[BANDS.retried] = true end
  end
  for band in pairs(found) do ended[#ended + 1] = '6' .. band .. NAME.batch_tasks .. batch end
  table.sort(ended)
  return ended
end

-- The indexes to read, in order. A number before each name gives the order, so that a cursor keeps its place when its index is gone.
local function indexes()
  if owner ~= '' then return {'1' .. NAME.worker .. owner .. NAME.of_running} end
  if batch ~= '' then return bands_of_batch() end
  if kind ~= '' then return {'7' .. NAME.error_tasks .. kind} end
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

-- True for the index of a worker's tasks. They are few and in no order, so one window has all.
local function is_hash(index) return string.sub(index, 1, 1) == '1' end
local function band_of(index) return tonumber(string.match(index, '^6(%d)')) end
local function key_of(index) return T .. string.sub(index, band_of(index) and 3 or 2) end
local function is_backwards(index) return index == ENDED or (newest and not is_hash(index) and not band_of(index)) end

-- How many places its key has before this index, and how many up to its end.
local function span_of(index)
  local band = band_of(index)
  if not band then return 0, math.huge end
  local key = key_of(index)
  return redis.pcall('ZCOUNT', key, '-inf', '(' .. band * BAND), redis.pcall('ZCOUNT', key, '-inf', '(' .. (band + 1) * BAND)
end

local function of_hash(index, start)
  local ids, pairs_of = redis.pcall('HKEYS', key_of(index)), {}
  if ids.err then return {} end
  table.sort(ids)
  for i = start + 1, #ids do
    pairs_of[#pairs_of + 1] = ids[i]
    pairs_of[#pairs_of + 1] = '0'
  end
  return pairs_of
end

-- Ids and scores of a window, as pairs.
local function window(index, start)
  if is_hash(index) then return of_hash(index, start) end
  local first, beyond = span_of(index)
  if type(first) ~= 'number' then return {} end   -- somebody has damaged the key
  local last = math.min(first + start + WINDOW, beyond) - 1
  if last < first + start then return {} end
  if is_backwards(index) then return members_of('ZRANGE', key_of(index), start, last, 'REV', 'WITHSCORES') end
  return members_of('ZRANGE', key_of(index), first + start, last, 'WITHSCORES')
end

-- The place in this index at which a list continues.
local function place_after(index)
  if index ~= from or is_hash(index) then return 0 end
  local key, backwards, first = key_of(index), is_backwards(index), span_of(index)
  if type(first) ~= 'number' then return 0 end
  if redis.pcall('ZSCORE', key, from_id) == from_score then return call(backwards and 'ZREVRANK' or 'ZRANK', key, from_id) + 1 - first end
  if backwards then return size_of('ZCOUNT', key, '(' .. from_score, '+inf') end
  return math.max(0, size_of('ZCOUNT', key, '-inf', '(' .. from_score) - first)
end

-- True if this place was listed before the cursor. Tasks with the same score are in the order of their ids.
local function passed(index, score, id)
  if index ~= from or score ~= from_score then return false end
  if is_backwards(index) then return id >= from_id end
  return id <= from_id
end

local function fits(id)
  local r = read(id, 'state', 'lane', 'name', 'created', 'batch', 'error')
  if not wanted[r[1]] or (lane ~= '' and r[2] ~= lane) or (name ~= '' and r[3] ~= name) then return false end
  if owner ~= '' and batch ~= '' and string.match(r[5] or '', ' (%S*)$') ~= batch then return false end
  if kind ~= '' and string.match(r[6] or '', '^%x+') ~= kind then return false end
  local created = tonumber(r[4])
  return not ((last_created and created > last_created) or (first_created and created < first_created))
end

local answer, rows, looked, bytes, last = {'', 0}, 0, 0, 0, nil

-- Reads an index. Answers true if the page has room for more. Ended tasks are read from the latest end: if one ended before the wanted
-- time, those after it were accepted too early as well.
local function look_through(index, show)
  local start, before = place_after(index), #answer
  while true do
    local found = window(index, start)
    for i = 1, #found, 2 do
      local id, score = found[i], found[i + 1]
      if index == ENDED and first_created and tonumber(score) < first_created then return true end
      if not passed(index, score, id) then
        if looked >= LOOKS or bytes > TEXT_BYTES or rows >= limit then return false end
        looked, last = looked + 1, index .. '\n' .. score .. '\n' .. id
        if fits(id) then bytes = bytes + show(id, answer) end
        if #answer > before then rows, before = rows + 1, #answer end
      end
    end
    if #found < WINDOW * 2 or is_hash(index) then return true end
    start = start + WINDOW
  end
end

-- The page: {cursor ('' at the end), how many tasks were looked at, then the values that `show(id, answer)` has added for each matching
-- task}. `show` answers how many bytes of texts it has read.
local function answer_of(show)
  for _, index in ipairs(indexes()) do
    if (not from or index >= from) and not look_through(index, show) then
      answer[1] = last
      break
    end
  end
  answer[2] = looked
  return answer
end
