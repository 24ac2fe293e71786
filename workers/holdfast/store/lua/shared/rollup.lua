-- use: clock constants
-- provides: add_figure add_histogram keep_example roll
-- The rollup of this minute: figures by lane and handler, in the form of core/rollup.py. A call never fails because of figures: if somebody
-- has written another type under the key, nothing is counted.
local function rollup_key() return KEY.rollup .. math.floor(NOW / ROLLUP_MS) end

-- The field that has the bytes of all other fields, about. Readers skip it, because it names no series.
local SIZE = '~'

-- Makes room for `bytes` more of a field. Answers the name of the field to use: that of `other` if the rollup has too many fields or bytes.
local function room_for(key, field, bytes, is_new)
  local many = is_new and call('HLEN', key) >= FIGURES_KEPT
  if many or tonumber(call('HGET', key, SIZE) or 0) + bytes > ROLLUP_BYTES then
    return string.match(field, '^%S+') .. ' 0 other'
  end
  call('HINCRBY', key, SIZE, bytes)
  call('PEXPIRE', key, ROLLUP_KEPT_MS)
  return field
end

local function add_figure(field, n)
  local key = rollup_key()
  local sum = redis.pcall('HINCRBY', key, field, n)
  if sum ~= n then return end
  local kept = room_for(key, field, #field, true)
  if kept == field then return end
  call('HDEL', key, field)
  redis.pcall('HINCRBY', key, kept, n)
end

-- The sum of two histograms. A histogram is `<sum of the samples> <bucket> <number> <bucket> <number> …`.
local function sum_of(first, second)
  local sum, order, numbers = 0, {}, {}
  for _, histogram in ipairs({first, second}) do
    sum = sum + (string.match(histogram, '^%d+') or 0)
    for bucket, n in string.gmatch(histogram, ' (%-?%d+) (%d+)') do
      if not numbers[bucket] then order[#order + 1] = bucket end
      numbers[bucket] = (numbers[bucket] or 0) + n
    end
  end
  for i, bucket in ipairs(order) do order[i] = ' ' .. bucket .. ' ' .. numbers[bucket] end
  return string.format('%.0f', sum) .. table.concat(order)
end

local function add_histogram(field, added)
  local key = rollup_key()
  local kept = redis.pcall('HGET', key, field)
  if type(kept) == 'table' then return end
  local sum = sum_of(kept or '', added)
  local grown = kept and #sum - #kept or #sum + #field
  local place = grown > 0 and room_for(key, field, grown, not kept) or field
  if place ~= field then sum = sum_of(call('HGET', key, place) or '', added) end
  call('HSET', key, place, sum)
end

-- Keeps the newest example of a series while the rollup is less than half full, because counts need the room more.
local function keep_example(field, example)
  local key = rollup_key()
  local known, fields = redis.pcall('HEXISTS', key, field), redis.pcall('HLEN', key)
  if known == 0 and 2 * fields < FIGURES_KEPT and room_for(key, field, #field + #example, true) == field then known = 1 end
  if known == 1 then call('HSET', key, field, example) end
end

-- Counts an outcome for this lane and handler ('' or nil: the task names none).
local function roll(outcome, lane, name, n)
  if lane then add_figure(outcome .. ' ' .. #lane .. ' ' .. lane .. (name or ''), n or 1) end
end
