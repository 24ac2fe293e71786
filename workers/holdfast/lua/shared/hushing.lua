-- use: hosts control
-- Mark every worker as its host was told to be, and have those look again for whom that is new. Answers how many of this host (`*`: of all) are as they were told now.
local function mark_workers(wanted, told)
  local concerned = 0
  for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
    local worker = T .. 'worker:' .. incarnation
    local r = call('HMGET', worker, 'host', 'quiet')
    local quiet = r[1] and is_quiet(r[1])
    if quiet == told and (wanted == '*' or r[1] == wanted) then concerned = concerned + 1 end
    if r[1] and quiet ~= (r[2] == '1') then
      if quiet then call('HSET', worker, 'quiet', '1') else call('HDEL', worker, 'quiet') end
      hint(incarnation, 'look')
    end
  end
  return concerned
end
