-- use: clock limits
-- provides: rollup_key add_figure add_histogram roll
-- The rollup of this minute: figures by lane and handler, as core/rollup.py spells them. Figures are no reason to fail: where
-- somebody has written something else under the key nothing is counted.
local function rollup_key() return KEY.rollup .. math.floor(NOW / ROLLUP_MS) end

-- Prepares for a new field. Answers its name: with very many lanes and handlers figures are counted for `other`.
local function new_field(key, field)
  if call('HLEN', key) >= FIGURES_KEPT then return string.match(field, '^%S+') .. ' 0 other' end
  call('EXPIRE', key, ROLLUP_KEPT_S)
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

-- Adds {sum, bucket, number, bucket, number, …} to the histogram that is kept under a field.
local function add_histogram(field, added)
  local key = rollup_key()
  local packed = redis.pcall('HGET', key, field)
  if type(packed) == 'table' then return end
  if not packed then
    field = new_field(key, field)
    packed = call('HGET', key, field)
  end
  local known, kept = pcall(cmsgpack.unpack, packed or '')
  if known and packed then
    local at = {}
    for i = 2, #kept, 2 do at[kept[i]] = i + 1 end
    for i = 2, #added, 2 do
      local place = at[added[i]] or #kept + 2
      kept[place - 1], kept[place] = added[i], (kept[place] or 0) + added[i + 1]
    end
    kept[1] = kept[1] + added[1]
    added = kept
  end
  call('HSET', key, field, cmsgpack.pack(added))
end

-- Counts an outcome of a task of this lane and handler ('' or nil: it names none).
local function roll(outcome, lane, name, n)
  if lane then add_figure(outcome .. ' ' .. #lane .. ' ' .. lane .. (name or ''), n or 1) end
end
