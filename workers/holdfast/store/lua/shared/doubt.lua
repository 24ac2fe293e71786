-- use: clock journal workers
-- provides: doubt
-- Doubt: this Redis may have been set back to an earlier moment, and may hold tasks that have ended since.
--
-- Rule 1. While the doubt lasts, nobody claims. It lasts until the steward has compared this Redis with its ledger, and has put back what was
-- lost; or for PATIENCE_MS, if no steward comes.
-- Rule 2. Without a ledger there is no doubt: nothing could be compared.
--
-- Theory of operation. A worker that finds a sign of it (a request number that leaps, a new connection) marks the whole queue: the field
-- '' of the hash `closed` gets the present moment. Each pull reads that hash anyway. The event `worker-doubts` wakes the steward.
-- A function that makes functions: each function of a script costs every call of it.
local function doubt()
  local ALL = ''
  local PATIENCE_MS = 600000   -- if no steward comes for so long, the queue is not kept from working; one that puts back has all its time

  -- Answers whether nobody may claim now.
  local function begin(incarnation, why)
    if call('HEXISTS', KEY.meta, 'ledger') == 0 then return false end
    if call('HSETNX', KEY.closed, ALL, NOW) == 1 then tell('worker-doubts', incarnation, why) end   -- it wakes the steward
    return true
  end

  -- Everybody looks anew: bells were heard in vain.
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
