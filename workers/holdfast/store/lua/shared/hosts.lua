-- use: workers
-- provides: is_halted is_barred mark_workers mark_of
-- Hosts that were told to claim nothing. The hash `quiet` has a mark for each order: `<host>` (`*`: all) for a quiet host, `halt <host>`
-- for a halt. A mark's text has three lines: since when (ms), or the number of a halt; who gave the order; why.
-- The number of a halt is its moment in ms, but higher than the number of any halt before. `meta` keeps the last number of all (`halt`) and
-- of each host (`halt <host>`), also after the halt has ended.
-- A process that was started during a halt, and that ends at halts, ignores this halt. Its `seen` is the last number at its start.
-- Each worker that is to claim nothing is marked in its own record, so that a pull need not look here.
local function is_quiet(host)
  local r = call('HMGET', KEY.quiet, '*', host)
  return (r[1] or r[2]) and true or false
end

local function is_halted(host, seen)
  for _, mark in ipairs(call('HMGET', KEY.quiet, 'halt *', 'halt ' .. host)) do
    if mark and (tonumber(string.match(mark, '^%d+')) or math.huge) > (tonumber(seen or '') or 0) then return true end
  end
  return false
end

local function is_barred(host, seen) return is_quiet(host) or is_halted(host, seen) end

-- Marks every worker that is to claim nothing, and wakes the workers whose mark has changed. Answers how many workers of the host `wanted`
-- (`*`: of all) are to claim nothing; if `told` is false: how many may claim.
local function mark_workers(wanted, told)
  local concerned = 0
  for _, incarnation in ipairs(call('ZRANGE', KEY.workers, 0, -1)) do
    local worker = KEY.worker .. incarnation
    local r = facts_of_worker(incarnation, 'host', 'quiet', 'halt')
    local barred = r[1] and is_barred(r[1], r[3])
    if barred == told and (wanted == '*' or r[1] == wanted) then concerned = concerned + 1 end
    if r[1] and barred ~= (r[2] == '1') then
      if barred then call('HSET', worker, 'quiet', '1') else call('HDEL', worker, 'quiet') end
      hint(incarnation, 'look')
    end
  end
  return concerned
end

-- The host of a mark, and true if the mark is a halt.
local function mark_of(mark)
  local halted = string.match(mark, '^halt (.+)$')
  return halted or mark, halted ~= nil
end
