-- provides: usual_waiting usual_running
-- Usual records: of tasks in their first turn and first delivery, with exactly the fields that are named here. Any other field,
-- whatever has written it, makes a record unusual.
local WAITING = {'state', 'lane', 'turn', 'seq', 'message', 'digest', 'name', 'max_attempts', 'timeout'}
local RUNNING = {'state', 'lane', 'turn', 'seq', 'message', 'digest', 'owner', 'claim', 'delivery', 'name', 'max_attempts', 'timeout'}
local UNREAD = 2     -- besides, `origin` and `created`: nothing is decided by them
local OPTIONAL = 3   -- the last ones of each
local DIGITS_COUNTED = 15   -- see damage

local function is_number(text) return not text or (#text <= DIGITS_COUNTED and string.find(text, '^%d+$') ~= nil) end

-- The values of these fields if the record has them, the optional ones or not, and no others; else nil.
local function only(id, state, fields)
  local key, found = KEY.task .. id, UNREAD
  local r = redis.pcall('HMGET', key, unpack(fields))
  for i = 1, #fields do
    if r[i] then found = found + 1 elseif i <= #fields - OPTIONAL then return nil end
  end
  local as_usual = r[1] == state and r[3] == '1' and is_number(r[4]) and is_number(r[#fields - 1]) and is_number(r[#fields])
  return as_usual and call('HLEN', key) == found and r or nil
end

-- Of a usual task of this lane that waits under this number: the values of WAITING; else nil.
local function usual_waiting(id, lane, seq)
  local r = only(id, 'submitted', WAITING)
  return r and r[2] == lane and r[4] == seq and r or nil
end

-- True for a usual task that runs under this claim, its first, of this owner.
local function usual_running(id, claim, owner)
  local r = only(id, 'working', RUNNING)
  return r ~= nil and r[7] == owner and r[8] == claim and r[9] == '1'
end
