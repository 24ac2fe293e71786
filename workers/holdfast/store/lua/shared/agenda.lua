-- provides: alarm agenda
-- What is to be done at a time: `expire|<task>`, `settle|<parent that has ended>`, `forget|<unique key>`. One index for all,
-- so that who looks whether something is to be done looks once.
-- This part and those that use it are functions that make functions: few tasks need them, and each function of a script
-- costs every call of it most of a microsecond.

-- The steward sleeps until the first entry of an index: tell it if that has changed.
local function alarm(index, member)
  if call('ZRANK', index, member) == 0 and call('LLEN', T .. 'control:steward') == 0 then
    call('RPUSH', T .. 'control:steward', 'due')
  end
end

local function agenda()
  local key = T .. 'agenda'
  local function put(at, what, name)
    call('ZADD', key, at, what .. '|' .. name)
    alarm(key, what .. '|' .. name)
  end

  local function strike(what, name) call('ZREM', key, what .. '|' .. name) end

  return {put = put, strike = strike}
end
