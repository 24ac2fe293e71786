-- Recover incarnations whose lease has expired: two looks, a grace apart, have found the same old heartbeat, and nobody has vouched for the
-- worker in between. While Redis is frozen, every heartbeat grows old at once: the first beat after that clears the suspicion. A moment
-- later than now comes from a clock that was set back since: it counts as now.
-- KEYS: the public queue. ARGV: lease (ms), grace (ms), runs of a task after its first death.
-- Answers: incarnation, tasks put back, incarnation, …
-- flags: allow-oom
-- use: clock recovery damage workers
local lease, grace = tonumber(ARGV[1]), tonumber(ARGV[2])
local answer = {}
local function lost(incarnation, cause)
  local went, put_back = attempt(recover, {incarnation = incarnation, cause = cause, runs = tonumber(ARGV[3])})
  answer[#answer + 1], answer[#answer + 2] = incarnation, went and put_back or 0
  if not went then call('ZREM', KEY.workers, incarnation) end   -- the call goes on with the other workers; the search for strays finds this one's tasks
end

for _, incarnation in ipairs(call('ZRANGEBYSCORE', KEY.workers, '(' .. NOW, '+inf', 'LIMIT', 0, 256)) do
  call('ZADD', KEY.workers, NOW, incarnation)
end
for _, incarnation in ipairs(call('ZRANGEBYSCORE', KEY.workers, '-inf', NOW - lease, 'LIMIT', 0, 16)) do
  local worker = KEY.worker .. incarnation
  local r = facts_of_worker(incarnation, 'heartbeat', 'suspect', 'vouched')
  local last = (r[1] or '') .. '/' .. (r[3] or '')
  local beat, since = string.match(r[2] or '', '^(.*):(%d+)$')
  if not r[1] then   -- its record was lost, so nobody knows which tasks it owned
    lost(incarnation, 'record lost')
  elseif beat ~= last or tonumber(since) > NOW then
    call('HSET', worker, 'suspect', last .. ':' .. NOW)
  elseif NOW - tonumber(since) >= grace then
    lost(incarnation, 'lease lapsed')
  end
end
return answer
