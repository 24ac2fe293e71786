-- Add a worker's measurements to the rollup of this minute.
-- KEYS: the public queue. ARGV: incarnation, number of this call, then for each field its name and the value to add: a number, a histogram,
--       or an example, which replaces the example before.
-- Answers: OK; ALREADY: this call was made before; UNKNOWN: there is no such worker.
-- flags: allow-oom
-- use: rollup
local worker, number = KEY.worker .. ARGV[1], tonumber(ARGV[2])
local r = call('HMGET', worker, 'state', 'sampled')
if not r[1] then return 'UNKNOWN' end
if tonumber(r[2] or '0') >= number then return 'ALREADY' end
call('HSET', worker, 'sampled', number)
for i = 3, #ARGV, 2 do
  local n = tonumber(ARGV[i + 1])
  if n then
    add_figure(ARGV[i], n)
  elseif string.sub(ARGV[i], 1, 8) == 'example:' then
    keep_example(ARGV[i], ARGV[i + 1])
  else
    add_histogram(ARGV[i], ARGV[i + 1])
  end
end
return 'OK'
