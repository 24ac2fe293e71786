-- provides: read_new read_claimed
-- Usual records: of tasks in their first turn and first delivery. Any field that is not named here, whatever has written it, makes a
-- record unusual, and so does a field that is missing: fields are counted.
local FIELDS, CLAIM_FIELDS = 8, 4    -- `origin` and `created` among them, by which nothing is decided; and what a claim adds
local DIGITS_COUNTED = 15            -- see damage

local function is_number(text) return not text or (#text <= DIGITS_COUNTED and string.find(text, '^%d+$') ~= nil) end

-- Answers lane, number, name, most attempts and timeout of a usual task that was never claimed (the last three are false where there
-- is none), how many fields its record has with a claim, and when it was made; or nil.
local function read_new(id)
  local key = KEY.task .. id
  local r = redis.pcall('HMGET', key, 'state', 'lane', 'turn', 'seq', 'message', 'digest', 'name', 'max_attempts', 'timeout', 'delivery',
    'created')
  if r[1] ~= 'submitted' or r[3] ~= '1' or not (r[2] and r[4] and r[5] and r[6]) or r[10] then return nil end
  if not (is_number(r[4]) and is_number(r[8]) and is_number(r[9])) then return nil end
  local fields = FIELDS + (r[7] and 1 or 0) + (r[8] and 1 or 0) + (r[9] and 1 or 0)
  if call('HLEN', key) ~= fields then return nil end
  return r[2], r[4], r[7], r[8], r[9], fields + CLAIM_FIELDS, r[11]
end

-- Answers lane and name ('': none) of a usual task that is under this claim of this owner, with a record that has the fields which it
-- had when claimed; or nil.
local function read_claimed(id, owner, claim)
  local key = KEY.task .. id
  local r = redis.pcall('HMGET', key, 'state', 'claim', 'owner', 'claimed', 'lane', 'name')
  if r[1] ~= 'working' or r[2] ~= claim or r[3] ~= owner or not r[4] then return nil end
  if tonumber(string.match(r[4], '^%d+')) ~= call('HLEN', key) then return nil end
  return r[5], r[6] or ''
end
