-- provides: alarm agenda
-- The agenda: one sorted set of everything that is due at a time: `expire|<task>`, `settle|<parent that has ended>`, `forget|<unique key>`.
-- It is one index, so that the steward reads one key to see whether something is due.
-- This part, and each part that uses it, defines its functions inside one function. Few calls need them, and defining a function costs
-- every call of a script most of a microsecond.

-- The steward sleeps until the first entry of an index is due. If this member is now the first, wakes the steward.
local function alarm(index, member)
  if call('ZRANK', index, member) == 0 and call('LLEN', KEY.steward_control) == 0 then
    call('RPUSH', KEY.steward_control, 'due')
  end
end

local function agenda()
  local key = KEY.agenda
  local function put(at, what, name)
    call('ZADD', key, at, what .. '|' .. name)
    alarm(key, what .. '|' .. name)
  end

  local function strike(what, name) call('ZREM', key, what .. '|' .. name) end

  return {put = put, strike = strike}
end
