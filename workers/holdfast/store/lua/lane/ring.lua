-- Ring the bells of lanes that hold entries, for producers that only RPUSH.
-- KEYS: the public queue. ARGV: lanes.
-- Answers: {entries in these lanes, how many lanes hold entries and were not rung}. A bell is not rung while nobody has heard its last
--       ring, or while the lane can start nothing. If a lane's key holds no list, the call looks at the other lanes and then answers the
--       error.
-- flags: allow-oom
-- use: lane
local waiting, unrung, failed = 0, 0, nil
for _, lane in ipairs(ARGV) do
  local held = redis.pcall('LLEN', list_of(lane))
  if type(held) ~= 'number' then failed = failed or held
  else
    if held > 0 then
      ring(lane)
      if not rung[lane] then unrung = unrung + 1 end
    end
    waiting = waiting + held
  end
end
return failed or {waiting, unrung}
