-- use: workers shared_keys
-- provides: held_of remove_held
-- The keys of the tasks that wait at a gate of a lane, in the order of their numbers. Where the lane's name holds the beginning
-- of a gate, `held:<lane>:<gate>` is the key of a gate of another lane, too: key `c` of lane `a:key:b`, key `b:key:c` of lane `a`. There
-- the length of the name goes before it. A task that waits under the other spelling is found by audit, and put back.
local GATES_BEGIN = {':key:', ':name:', ':unknown:'}

local function plain_held(lane, gate) return KEY.held .. lane .. ':' .. gate end
local function exact_held(lane, gate) return KEY.exact_held .. #lane .. ':' .. lane .. ':' .. gate end

local function is_ambiguous(lane)
  for _, begin in ipairs(GATES_BEGIN) do
    if string.find(lane .. ':', begin, 1, true) then return true end
  end
  return false
end

local function held_of(lane, gate)
  if is_ambiguous(lane) and not any_reserves() then return exact_held(lane, gate) end
  return plain_held(lane, gate)
end

local function remove_held(id, lane, gate)
  shared('ZREM', plain_held(lane, gate), id)
  if is_ambiguous(lane) then shared('ZREM', exact_held(lane, gate), id) end
end
