-- Hosts that were told to claim nothing: marks in the hash `quiet`, each of three lines: since (ms) or number, who said it, why.
--   `<host>` (`*`: all): quiet. `halt <host>`: halted; its first line is its number, the moment in ms, higher than that of any
--   halt before. `meta` keeps the last number of all (`halt`), and of each host (`halt <host>`) also when the halt has ended.
-- A halt does not count for a process that ends at halts and was started while it lasted: `seen` is the last number that there
-- was at its start. Each worker that is to claim nothing is marked, so that a pull need not look here.
local function is_quiet(host)
  local r = call('HMGET', T .. 'quiet', '*', host)
  return (r[1] or r[2]) and true or false
end

local function is_halted(host, seen)
  for _, mark in ipairs(call('HMGET', T .. 'quiet', 'halt *', 'halt ' .. host)) do
    if mark and tonumber(string.match(mark, '^%d+')) > (tonumber(seen or '') or 0) then return true end
  end
  return false
end

local function is_barred(host, seen) return is_quiet(host) or is_halted(host, seen) end
