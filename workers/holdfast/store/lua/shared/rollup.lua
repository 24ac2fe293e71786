-- use: clock limits
-- provides: add_figure add_histogram roll
-- The rollup of this minute: figures by lane and handler, as core/rollup.py spells them. Figures are no reason to fail: where
-- somebody has written something else under the key nothing is counted.
local function rollup_key() return KEY.rollup .. math.floor(NOW / ROLLUP_MS) end

-- Prepares for a new field. Answers its name: with very many lanes and handlers figures are counted for `other`.
local function new_field(key, field)
  if call('HLEN', key) >= FIGURES_KEPT then return string.match(field, '^%S+') .. ' 0 other' end
  call('PEXPIRE', key, ROLLUP_KEPT_MS)
  return field
end

local function add_figure(field, n)
  local key = rollup_key()
  local sum = redis.pcall('HINCRBY', key, field, n)
  if sum ~= n then return end
  local kept = new_field(key, field)
  if kept == field then return end
  call('HDEL', key, field)
  redis.pcall('HINCRBY', key, kept, n)
end

-- The sum of two histograms: `<sum of the samples> <bucket> <number> <bucket> <number> …`.
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
  local is_new = not kept
  if is_new then
    field = new_field(key, field)
    kept = call('HGET', key, field) or ''
  end
  call('HSET', key, field, sum_of(kept, added))
  if is_new then call('PEXPIRE', key, ROLLUP_KEPT_MS) end   -- it may be the first field of all
end

-- Counts an outcome of a task of this lane and handler ('' or nil: it names none).
local function roll(outcome, lane, name, n)
  if lane then add_figure(outcome .. ' ' .. #lane .. ' ' .. lane .. (name or ''), n or 1) end
end
