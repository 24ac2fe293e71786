-- One steward of all hosts reports the figures of the queue: it takes this duty, keeps it, or gives it up.
-- KEYS: the public queue. ARGV: id of the steward, for how long it has the duty (ms; 0: it gives it up).
-- Answers: 1 if it has the duty now, else 0. Two never have it at once, unless the store has lost writes.
-- flags: allow-oom
local steward, ms = ARGV[1], tonumber(ARGV[2])
local holder = redis.pcall('GET', KEY.reporter)   -- a table where somebody has written something else there
if type(holder) == 'string' and holder ~= steward then return 0 end
if ms == 0 then
  if holder == steward then call('UNLINK', KEY.reporter) end
  return 0
end
call('SET', KEY.reporter, steward, 'PX', ms)
return 1
