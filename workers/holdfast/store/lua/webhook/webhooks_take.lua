-- Take the webhooks that are due, each for so long that nobody else tries it meanwhile.
-- KEYS: the public queue. ARGV: limit, how long (ms).
-- Answers: {ms until the next is due (-1: none), name, fields, name, fields, …}; no fields where the record is no hash.
-- Keeps: a webhook that is taken and not done is taken again later: each is delivered at least once.
-- flags: allow-oom
-- use: webhook_outbox clock
local box = outbox()
call('DEL', KEY.webhooks_control)

local function fields_of(name)
  local counted = redis.pcall('HINCRBY', box.hash(name), 'tries', 1)
  if type(counted) ~= 'number' then return {} end   -- an error, which is its own and not that of the others
  return call('HGETALL', box.hash(name))
end

local answer = {-1}
for _, name in ipairs(call('ZRANGEBYSCORE', box.index, '-inf', NOW, 'LIMIT', 0, ARGV[1])) do
  call('ZADD', box.index, NOW + ARGV[2], name)
  answer[#answer + 1] = name
  answer[#answer + 1] = fields_of(name)
end
local following = call('ZRANGE', box.index, 0, 0, 'WITHSCORES')
if following[2] then answer[1] = math.max(0, math.ceil(following[2] - NOW)) end
return answer
