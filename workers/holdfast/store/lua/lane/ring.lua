-- Ring the bells of lanes that hold entries (for producers that only RPUSH).
-- KEYS: the public queue. ARGV: lanes.
-- Answers: {entries in these lanes, lanes whose last bell nobody has heard yet}; an error where one of them is no list, after the
--          others were looked at.
-- flags: allow-oom
-- use: lane
local waiting, unheard, failed = 0, 0, nil
for _, lane in ipairs(ARGV) do
  local held = redis.pcall('LLEN', list_of(lane))
  if type(held) ~= 'number' then failed = failed or held
  else
    if held > 0 then
      if call('LLEN', KEY.bell .. lane) > 0 then unheard = unheard + 1 end
      ring(lane)
    end
    waiting = waiting + held
  end
end
return failed or {waiting, unheard}
