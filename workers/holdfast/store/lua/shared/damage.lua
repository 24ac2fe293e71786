-- use: task_record journal lane
-- provides: FACTS facts flaw_in flaw_in_content flaw_of set_damaged_aside pass_over is_wrong_type
-- A record that somebody has damaged is the trouble of its task alone: the task is set aside with the reason, as the entry that
-- stands for it in a lane, and keeps its state. When the record is whole again, the entry can be read again.
local FACTS = {'lane', 'turn', 'delivery', 'attempts', 'crashes', 'max_attempts', 'timeout', 'solo', 'expires', 'concurrency_key',
  'name', 'state', 'seq', 'held', 'message', 'digest', 'queued', 'created', 'unbegun', 'if_parent_fails',
  'batch', 'webhook'}
local NEEDED = {1, 2, 13, 15, 16}           -- of these
local NUMBERS = {2, 3, 4, 5, 6, 7, 9, 13, 17, 18, 19}   -- where they are there
local DIGITS = 15                           -- more are not counted exactly

-- The fields that a claim needs, read at once.
local function facts(id) return read(id, unpack(FACTS)) end

-- The reason why these fields cannot be used, or nil.
local function flaw_in(r)
  if r[1] == nil then return 'its key holds no record' end
  for _, i in ipairs(NEEDED) do
    if not r[i] then return 'no ' .. FACTS[i] end
  end
  for _, i in ipairs(NUMBERS) do
    if r[i] and (#r[i] > DIGITS or not string.find(r[i], '^%d+$')) then return FACTS[i] .. ' is no number' end
  end
end

-- The reason why the operation, history or checkpoint of a task cannot be used, or nil.
local function flaw_in_content(id, turn, delivery)
  if not operation_of(id) then return 'no operation' end
  if turn ~= '1' and type(redis.pcall('LLEN', KEY.history .. id)) ~= 'number' then return 'its history is no list' end
  if delivery and type(redis.pcall('STRLEN', KEY.checkpoint .. id)) ~= 'number' then return 'its checkpoint is no text' end
end

-- The reason why this task cannot be used; nil if it can, or if there is none.
local function flaw_of(id)
  local r = facts(id)
  if r[12] == false then return end
  return flaw_in(r) or flaw_in_content(id, r[2], r[3])
end

local function set_damaged_aside(id, flaw, raw, lane) set_aside('the record of task ' .. id .. ' cannot be read: ' .. flaw, raw, lane) end

-- Sets a task aside that cannot run. Answers whether it did.
local function pass_over(id, r, lane)
  local flaw = flaw_in(r) or flaw_in_content(id, r[2], r[3])
  if not flaw then return false end
  local seq = string.match(r[13] or '', '^%d+$') or '0'
  set_damaged_aside(id, flaw, entry(id, seq, operation_of(id) or '{}'), lane)
  return true
end

-- True for the error of a call on a key of another type. Such an error concerns one task and must not stop the others.
local function is_wrong_type(error) return string.find(type(error) == 'table' and error.err or error, 'WRONGTYPE', 1, true) end
