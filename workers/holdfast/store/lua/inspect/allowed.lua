-- List the commands that the calling user may not run, by the server's access list. None of the commands is run.
-- KEYS: the public queue. ARGV: for each command the number of its words, then the words.
-- Answers: the places (from 1) of the commands that are refused, or that this server does not have.
-- flags: no-writes, allow-oom
if not redis.acl_check_cmd then return {} end   -- in memory there are no rights
local refused, i, place = {}, 1, 0
while i <= #ARGV do
  local words = tonumber(ARGV[i])
  place = place + 1
  local known, may = pcall(redis.acl_check_cmd, unpack(ARGV, i + 1, i + words))
  if not (known and may) then refused[#refused + 1] = place end
  i = i + words + 1
end
return refused
