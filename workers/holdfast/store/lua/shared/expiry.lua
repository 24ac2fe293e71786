-- use: task_record task_end ties clock damage
-- provides: expiry
-- Expiry: a task that no worker has claimed by its time is canceled, wherever it waits. After its first claim a task no longer expires.
local function expiry()
  local EXPIRED = 'expired'
  local ties = ties()

  local function set(id, at)
    write(id, 'expires', at)
    ties.tie(id, 'expires', '')
    ties.agenda.put(at, 'expire', id)
  end

  local function may_expire(state, delivery, expires)
    return state and not TERMINAL[state] and state ~= 'working' and (delivery or '0') == '0' and expires and tonumber(expires) <= NOW
  end

  -- Ends the task if it has expired. Answers true if it did; or false and the reason for which a damaged task stays as it is. `is_taken`:
  -- its entry was just taken from its lane.
  local function expire(id, is_taken)
    local flaw = flaw_of(id)
    if flaw then return false, flaw end
    local r = read(id, 'state', 'lane', 'delivery', 'expires')
    if not may_expire(r[1], r[3], r[4]) then return false end
    if PARKED[r[1]] then leave_index(id, r[1], r[2]) end
    finish(id, 'canceled', EXPIRED, true)
    note_end('expired', id, EXPIRED)
    if not PARKED[r[1]] then leave_index(id, r[1], r[2], nil, is_taken) end   -- last, as in cancel
    return true
  end

  local function outlast(id)
    if ties.cut(id, 'expires', '') then ties.agenda.strike('expire', id) end
  end

  return {set = set, expire = expire, outlast = outlast}
end
