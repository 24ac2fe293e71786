-- Kinds of errors whose last failure was in a period, the latest first.
-- KEYS: the public queue. ARGV: handler ('' for tasks without a name), 1: of this handler alone, else of all; begin and end of the period
--       (ms), steps of the course, how many kinds to pass over, how many to answer.
-- Answers: {how many kinds there are in the period, then for each kind: id, facts as pairs, last failure (ms), failed tasks that were not
--       retried, dead letters among these, tasks that last failed in each step}.
-- flags: no-writes, allow-oom
-- use: kinds_of_errors shared_keys
local of = ARGV[2] == '1' and KEY.errors_of .. ARGV[1] or KEY.errors
local since, until_then, steps = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local kinds = error_kinds()

local function course_of(kind)
  local course, length = {}, (until_then - since) / steps
  for i = 1, steps do course[i] = kinds.count(kind, since + (i - 1) * length, since + i * length, 0) end
  return course
end

local answer = {size_of('ZCOUNT', of, ARGV[3], '+inf')}
local found = members_of('ZREVRANGEBYSCORE', of, '+inf', ARGV[3], 'WITHSCORES', 'LIMIT', ARGV[6], ARGV[7])
for i = 1, #found, 2 do
  local kind = found[i]
  for _, item in ipairs({kind, members_of('HGETALL', KEY.error .. kind), math.floor(found[i + 1]),
    kinds.count(kind, 0, kinds.BAND, kinds.FAILED), kinds.count(kind, 0, kinds.BAND, kinds.DEAD), course_of(kind)}) do answer[#answer + 1] = item end
end
return answer
