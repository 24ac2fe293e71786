-- provides: inbox_of running_of facts_of_worker running_ids hint roster
-- Registered workers: their keys, hints to them, and facts about all of them.
local function inbox_of(incarnation) return KEY.worker .. incarnation .. NAME.of_inbox end
local function running_of(incarnation) return KEY.worker .. incarnation .. NAME.of_running end

-- Fields of a worker's record; no fields if somebody has damaged it, which must not stop the others of a call.
local function facts_of_worker(incarnation, ...)
  local r = redis.pcall('HMGET', KEY.worker .. incarnation, ...)
  return r.err and {} or r
end

-- The ids of the tasks that a worker owns; none if somebody has damaged the key.
local function running_ids(incarnation)
  local ids = redis.pcall('HKEYS', running_of(incarnation))
  return ids.err and {} or ids
end

-- Leaves a word that ends a worker's wait. If the word is lost, the worker learns the same at its next renewal.
local function hint(incarnation, word)
  local HINT_MS = 600000
  local control = KEY.control .. incarnation
  call('RPUSH', control, word)
  call('PEXPIRE', control, HINT_MS)
end

-- A mark that changes when a worker registers, begins to drain, or goes. A caller that has looked at all workers need not look again while
-- the mark is the same.
local function roster()
  return (call('HGET', KEY.meta, 'roster') or '0') .. ' ' .. call('ZCARD', KEY.workers)
end
