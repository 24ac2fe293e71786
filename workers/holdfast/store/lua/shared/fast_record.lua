-- provides: number_of_fields read_new read_claimed
-- Usual records: of tasks in their first turn and first delivery. A record with a further field, or without one of these fields, is
-- unusual; the number of fields tells. Fields that decide nothing are not read.
local FIELDS, CLAIM_FIELDS = 8, 4    -- fields of a new record (with `message`, `digest` and `origin`); fields that a claim adds
local DIGITS_COUNTED = 15            -- see task_record

local function is_number(text) return not text or (#text <= DIGITS_COUNTED and string.find(text, '^%d+$') ~= nil) end

-- How many fields a usual record has with a claim. `name`, `most`, `timeout`: not nil if the record has these fields.
local function number_of_fields(name, most, timeout)
  return FIELDS + CLAIM_FIELDS + (name and 1 or 0) + (most and 1 or 0) + (timeout and 1 or 0)
end

-- Reads a usual task with this number that was never claimed. Answers lane, name, most attempts and timeout (the last three false if
-- missing); how many fields its record has with a claim; when it was made; the key of its record. nil if it is unusual. The options are
-- looked for in every record: a record with a name that has lost another field has as many fields as one without a name.
local function read_new(id, seq)
  local key = KEY.task .. id
  local fields = redis.pcall('HLEN', key)
  local r = redis.pcall('HMGET', key, 'state', 'lane', 'turn', 'seq', 'created', 'name', 'max_attempts', 'timeout')
  if r[1] ~= 'submitted' or r[3] ~= '1' or r[4] ~= seq or not (r[2] and r[5]) then return nil end
  if #seq > DIGITS_COUNTED or not (is_number(r[5]) and is_number(r[7]) and is_number(r[8])) then return nil end
  local claimed = number_of_fields(r[6], r[7], r[8])
  if fields ~= claimed - CLAIM_FIELDS then return nil end
  return r[2], r[6], r[7], r[8], claimed, r[5], key
end

-- Reads a usual task under this claim of this owner, whose record has as many fields as when it was claimed. Answers lane, name ('': none)
-- and the key of its record; nil if it is unusual. The note of its claim has that number, so a record without a name is not searched for
-- one.
local number_in = {}   -- by notes of a claim (see trail), because many records have the same
local function read_claimed(id, owner, claim)
  local key, r = KEY.task .. id, nil
  local fields = redis.pcall('HLEN', key)
  if fields == FIELDS + CLAIM_FIELDS then r = redis.pcall('HMGET', key, 'state', 'claim', 'owner', 'claimed', 'lane')
  else r = redis.pcall('HMGET', key, 'state', 'claim', 'owner', 'claimed', 'lane', 'name') end
  if r[1] ~= 'working' or r[2] ~= claim or r[3] ~= owner or not r[4] then return nil end
  number_in[r[4]] = number_in[r[4]] or tonumber(string.match(r[4], '^%d+'))
  if number_in[r[4]] ~= fields then return nil end
  return r[5], r[6] or '', key
end
