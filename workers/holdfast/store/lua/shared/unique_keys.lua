-- use: task_record ties clock
-- provides: unique
-- Unique keys: one task holds a key at a time, until the task has ended or for a given time.
local function unique()
  local ties = ties()

  -- The task that holds a key now; nil if none does.
  local function holder(key)
    local id, till = ties.holder_of(NAME.unique, key)
    if not id then return nil end
    if till ~= '' then return (whole(till) or 0) > NOW and id or nil end
    local state = read(id, 'state')[1]
    return state and not TERMINAL[state] and id or nil
  end

  local function hold(id, key, ms)
    local till = ms ~= '' and NOW + ms or ''
    call('HSET', KEY.unique, key, id .. '|' .. till)
    if till == '' then ties.tie(id, 'unique', key) else ties.agenda.put(till, 'forget', key) end
  end

  local function forget(key)
    local _, till = ties.holder_of(NAME.unique, key)
    local timed = till and till ~= ''
    if timed and (whole(till) or 0) > NOW then return end
    if timed then call('HDEL', KEY.unique, key) end
    ties.agenda.strike('forget', key)
  end

  return {holder = holder, hold = hold, forget = forget}
end
