-- use: clock journal workers
-- provides: doubt
-- Doubt: this Redis may have been set back to an earlier moment, and may hold tasks that have ended since.
--
-- Rule 1. While there is doubt, nobody claims. The doubt ends when the steward has compared this Redis with its ledger and has put back
-- what was lost. If no steward comes, the doubt ends after PATIENCE_MS.
-- Rule 2. Without a ledger there is no doubt, because this Redis could be compared with nothing.
--
-- Theory of operation. A worker notices a sign of such a loss: a leap in its request numbers, or a new connection. Its call then sets the
-- field '' of the hash `closed` to the present moment, which marks the whole queue. Each pull reads this hash anyway. The event
-- `worker-doubts` wakes the steward.
-- The functions are defined inside one function, because each function of a script costs every call of it.
local function doubt()
  local ALL = ''
  local PATIENCE_MS = 600000   -- the longest wait for a steward; a rebuild that has begun may take longer

  -- Begins the doubt, if a ledger follows this Redis. Answers true if nobody may claim now.
  local function begin(incarnation, why)
    if call('HEXISTS', KEY.meta, 'ledger') == 0 then return false end
    if call('HSETNX', KEY.closed, ALL, NOW) == 1 then tell('worker-doubts', incarnation, why) end   -- it wakes the steward
    return true
  end

  -- Ends the doubt. All workers look again, because they have heard bells in vain. Answers 1, or 0 if there was no doubt.
  local function finish()
    if call('HDEL', KEY.closed, ALL) == 0 then return 0 end
    for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do hint(incarnation, 'look') end
    return 1
  end

  local function lasts()
    local since = call('HGET', KEY.closed, ALL)
    if not since then return false end
    if math.abs(NOW - (tonumber(since) or 0)) < PATIENCE_MS or call('HEXISTS', KEY.meta, 'rebuilding') == 1 then return true end
    finish()
    return false
  end

  return {begin = begin, finish = finish, lasts = lasts}
end
