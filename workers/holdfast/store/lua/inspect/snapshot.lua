-- Every key of the namespace, and every lane with a name outside it, at one moment. For checks and tests: costly on a large namespace.
-- KEYS: the public queue. ARGV: none.
-- Answers: {key, type, when it expires (Unix time in ms, -1: never), content, …}. The content is the answer of the type's own read command.
-- flags: no-writes, allow-oom
-- use: lane
local READ = {
  string = function(key) return call('GET', key) end,
  list = function(key) return call('LRANGE', key, 0, -1) end,
  hash = function(key) return call('HGETALL', key) end,
  set = function(key) return call('SMEMBERS', key) end,
  zset = function(key) return call('ZRANGE', key, 0, -1, 'WITHSCORES') end,
  stream = function(key) return call('XRANGE', key, '-', '+') end,
}
local answer, added = {}, {}
local function add(key)
  local kind = call('TYPE', key).ok
  if added[key] or not READ[kind] then return end
  added[key] = true
  for _, item in ipairs({key, kind, call('PEXPIRETIME', key), READ[kind](key)}) do answer[#answer + 1] = item end
end
add(QUEUE)
for _, index in ipairs({NAME.seq, NAME.heads}) do
  for _, lane in ipairs(call('HKEYS', T .. index)) do add(list_of(lane)) end
end
local pattern = string.gsub(T, '[%*%?%[%]\\]', '\\%0') .. '*'
for _, key in ipairs(call('KEYS', pattern)) do add(key) end
return answer
