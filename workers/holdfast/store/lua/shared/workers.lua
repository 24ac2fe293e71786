-- provides: inbox_of running_of hint any_reserves roster
-- The keys of a worker, what it is told, and what all registered workers have in common.
local function inbox_of(incarnation) return T .. 'worker:' .. incarnation .. ':inbox' end
local function running_of(incarnation) return T .. 'worker:' .. incarnation .. ':running' end

-- What a worker is to do now, for its own blocking wait: a lost hint costs a renewal.
local HINT_MS = 600000

local function hint(incarnation, word)
  local control = T .. 'control:' .. incarnation
  call('RPUSH', control, word)
  call('PEXPIRE', control, HINT_MS)
end

-- Versions without quarantine workers reserve a suspect for a worker, from one index of all lanes, `solo`, and know one
-- spelling of the keys of gates. Whether a worker of such a version is registered.
local reserves
local function any_reserves()
  if reserves ~= nil then return reserves end
  reserves = false
  for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
    if call('HEXISTS', T .. 'worker:' .. incarnation, 'kind') == 0 then reserves = true end
  end
  return reserves
end

-- Another text when a worker has registered, begun to drain, or gone: who has looked at all workers need not look again before
-- that. Of one that drains an earlier version does not tell, nor of one that registers as another goes.
local function roster()
  return (call('HGET', T .. 'meta', 'roster') or '0') .. ' ' .. call('ZCARD', T .. 'workers')
end
