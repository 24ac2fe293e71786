-- What a worker is to do now, for its own blocking wait: a lost hint costs a renewal.
local HINT_MS = 600000

local function hint(incarnation, word)
  local control = T .. 'control:' .. incarnation
  call('RPUSH', control, word)
  call('PEXPIRE', control, HINT_MS)
end
