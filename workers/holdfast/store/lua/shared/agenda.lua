-- provides: alarm agenda
-- The agenda: one sorted set of everything that is due at a time: `expire|<task>`, `settle|<parent that has ended>`,
-- `forget|<unique key>`. One index, so that a steward looks once to see whether something is due.
-- This part and those that use it are functions that make functions: few tasks need them, and each function of a script
-- costs every call of it most of a microsecond.

-- The steward sleeps until the first entry of an index: tell it if that has changed.
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
