-- Take, keep or give up the duty to report the figures of the queue. One steward of all hosts has it.
-- KEYS: the public queue. ARGV: id of the steward, for how long it has the duty (ms; 0: it gives the duty up).
-- Answers: 1 if this steward has the duty now, else 0. Two stewards never have it at once, unless the store has lost writes.
-- flags: allow-oom
local steward, ms = ARGV[1], tonumber(ARGV[2])
local holder = redis.pcall('GET', KEY.reporter)   -- a table (an error) if the key holds no text
if type(holder) == 'string' and holder ~= steward then return 0 end
if ms == 0 then
  if holder == steward then call('UNLINK', KEY.reporter) end
  return 0
end
call('SET', KEY.reporter, steward, 'PX', ms)
return 1
