-- Delete tasks that ended long enough ago, in bounded steps.
-- KEYS: the public queue. ARGV: keep (ms), limit.
-- Answers: how many were deleted.
-- Keeps: I6, I14: nothing of a deleted task stays behind.
-- flags: allow-oom
-- use: clock record journal
local ids = call('ZRANGEBYSCORE', T .. 'finished', '-inf', NOW - tonumber(ARGV[1]), 'LIMIT', 0, tonumber(ARGV[2]))
for _, id in ipairs(ids) do
  local r = read(id, 'turn', 'state')
  if r[2] then
    tally(r[2], -1)
    count(r[2])
  end
  for turn = 1, tonumber(r[1]) or 0 do call('UNLINK', T .. 'result:' .. id .. ':' .. turn) end
  call('UNLINK', T .. 'task:' .. id, T .. 'op:' .. id, T .. 'history:' .. id, T .. 'checkpoint:' .. id, T .. 'pending:' .. id,
    T .. 'messages:' .. id, T .. 'trail:' .. id)
  call('ZREM', T .. 'finished', id)
  call('ZREM', T .. 'dead', id)
end
if #ids > 0 then count('trimmed', #ids) end
return #ids
