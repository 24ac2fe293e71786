-- Kinds of errors whose last failure was after a moment, the latest first.
-- KEYS: the public queue. ARGV: handler ('' for tasks without a name), 1: of this handler alone, else of all; the moment (ms), how many
--       kinds to pass over, how many to answer, then begin and end (ms) and steps of the course.
-- Answers: {how many kinds there are, then for each kind: id, facts as pairs, last failure (ms), failed tasks that were not
--       retried, dead letters among these, one of the tasks that failed last, tasks that last failed in each step}.
-- flags: no-writes, allow-oom
-- use: kinds_of_errors shared_keys
local of = ARGV[2] == '1' and KEY.errors_of .. ARGV[1] or KEY.errors
local from, until_then, steps = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local BAND = error_kinds().BAND

-- The scores between which the tasks of each step stand, once in each band. Their texts are made once for all kinds.
local spans = {}
for i = 1, steps do
  spans[i] = {}
  for band = 0, 2 do
    local function text_of(step) return string.format('%.0f', from + (until_then - from) * step / steps + band * BAND) end
    spans[i][band + 1] = {text_of(i - 1), '(' .. text_of(i)}
  end
end

local function course_of(kind)
  local course = {}
  for i, bands in ipairs(spans) do
    course[i] = 0
    for _, span in ipairs(bands) do course[i] = course[i] + size_of('ZCOUNT', KEY.error_tasks .. kind, span[1], span[2]) end
  end
  return course
end

local function tasks_from(kind, band) return size_of('ZCOUNT', KEY.error_tasks .. kind, string.format('%.0f', band * BAND), '+inf') end

local answer = {size_of('ZCOUNT', of, ARGV[3], '+inf')}
local found = members_of('ZREVRANGEBYSCORE', of, '+inf', ARGV[3], 'WITHSCORES', 'LIMIT', ARGV[4], ARGV[5])
for i = 1, #found, 2 do
  local kind = found[i]
  for _, item in ipairs({kind, members_of('HGETALL', KEY.error .. kind), math.floor(found[i + 1]),
    tasks_from(kind, 1), tasks_from(kind, 2),
    members_of('ZREVRANGE', KEY.error_tasks .. kind, 0, 0)[1] or '', course_of(kind)}) do answer[#answer + 1] = item end
end
return answer
