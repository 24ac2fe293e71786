-- provides: read_usual
-- Usual records: of tasks in their first turn and first delivery, with exactly the fields that are named here. Any other field,
-- whatever has written it, makes a record unusual.
local FIELDS, CLAIM_FIELDS = 8, 3    -- `origin` and `created` among them, by which nothing is decided; and what a claim adds
local DIGITS_COUNTED = 15            -- see damage

local function is_number(text) return not text or (#text <= DIGITS_COUNTED and string.find(text, '^%d+$') ~= nil) end

-- Answers lane, number, name, most attempts and timeout of a usual task (the last three are false where there is none) that has
-- this state and, under a claim of its own, this owner and claim (nil: none); or nil.
local function read_usual(id, state, owner, claim)
  local key = KEY.task .. id
  local r = redis.pcall('HMGET', key, 'state', 'lane', 'turn', 'seq', 'message', 'digest', 'name', 'max_attempts', 'timeout', 'owner',
    'claim', 'delivery')
  if r[1] ~= state or r[3] ~= '1' or not (r[2] and r[4] and r[5] and r[6]) then return nil end
  if (r[10] or nil) ~= owner or (r[11] or nil) ~= claim or (r[12] or nil) ~= (claim and '1') then return nil end
  if not (is_number(r[4]) and is_number(r[8]) and is_number(r[9])) then return nil end
  local fields = FIELDS + (claim and CLAIM_FIELDS or 0) + (r[7] and 1 or 0) + (r[8] and 1 or 0) + (r[9] and 1 or 0)
  if call('HLEN', key) ~= fields then return nil end
  return r[2], r[4], r[7], r[8], r[9]
end
