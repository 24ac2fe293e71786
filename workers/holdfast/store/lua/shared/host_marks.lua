-- use: hosts task_control
-- Mark every worker that is to claim nothing, and have those look again for whom that is new. Answers how many of this host
-- (`*`: of all) are now as they were told.
local function mark_workers(wanted, told)
  local concerned = 0
  for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
    local worker = T .. 'worker:' .. incarnation
    local r = call('HMGET', worker, 'host', 'quiet', 'halt')
    local barred = r[1] and is_barred(r[1], r[3])
    if barred == told and (wanted == '*' or r[1] == wanted) then concerned = concerned + 1 end
    if r[1] and barred ~= (r[2] == '1') then
      if barred then call('HSET', worker, 'quiet', '1') else call('HDEL', worker, 'quiet') end
      hint(incarnation, 'look')
    end
  end
  return concerned
end

-- The host of a mark, and whether it is a halt.
local function mark_of(mark)
  local halted = string.match(mark, '^halt (.+)$')
  return halted or mark, halted ~= nil
end
