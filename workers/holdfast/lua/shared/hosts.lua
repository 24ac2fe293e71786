-- Hosts that were told to claim nothing, in the hash `quiet`: host (`*`: all) → since (ms), who said it, why, a line each.
-- Each worker of theirs is marked, so that a pull need not look here.
local function is_quiet(host)
  local r = call('HMGET', T .. 'quiet', '*', host)
  return (r[1] or r[2]) and true or false
end
