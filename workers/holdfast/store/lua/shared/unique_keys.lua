-- use: task_record ties clock
-- provides: unique
-- Keys of which there is one task at a time: until it has ended, or for so long.
local function unique()
  local ties = ties()

  -- The task that holds a key now, or nil.
  local function holder(key)
    local id, till = ties.holder_of('unique', key)
    if not id then return nil end
    if till ~= '' then return tonumber(till) > NOW and id or nil end
    local state = read(id, 'state')[1]
    return state and not TERMINAL[state] and id or nil
  end

  local function hold(id, key, ms)
    local till = ms ~= '' and NOW + ms or ''
    call('HSET', T .. 'unique', key, id .. '|' .. till)
    if till == '' then ties.tie(id, 'unique', key) else ties.agenda.put(till, 'forget', key) end
  end

  local function forget(key)
    local _, till = ties.holder_of('unique', key)
    local timed = till and till ~= ''
    if timed and tonumber(till) > NOW then return end
    if timed then call('HDEL', T .. 'unique', key) end
    ties.agenda.strike('forget', key)
  end

  return {holder = holder, hold = hold, forget = forget}
end
