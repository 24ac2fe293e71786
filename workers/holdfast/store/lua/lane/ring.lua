-- Ring the bells of lanes that hold entries (for producers that only RPUSH).
-- KEYS: the public queue. ARGV: lanes.
-- Answers: {entries in these lanes, lanes that hold some and were not rung, as nobody has heard their last bell yet, or as they
--          start nothing}; an error where one of them is no list, after the others were looked at.
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
