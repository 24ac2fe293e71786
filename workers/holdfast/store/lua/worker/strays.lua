-- Find working tasks whose owner is dead, unknown, or silent for long, and put them back if asked. One call looks at one page of all keys.
-- KEYS: the public queue. ARGV: cursor (0 to begin), keys looked at in one page, silence (ms) after which an owner counts as gone, put back
--       (1; 0: only look), how many runs a task has after its first death.
-- Answers: the next cursor (0 at the end), then id, owner, why (dead, unknown, silent, not held), …
-- With `put back` the call also completes ends of which only the task's record knows (see end_again). The owner of a task that is put back
-- is declared dead, and loses all its tasks (see recover).
-- Keeps: I1, I2, I3, I4.
-- flags: allow-oom
-- use: clock recovery task_record workers damage task_end
local cursor, page, silence, put_back = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'

-- The reason for which nobody can be working on this task; nil if somebody may be.
local function why(id, owner, claim)
  local state = facts_of_worker(owner, 'state')[1]
  if not state then return 'unknown' end
  if state == 'dead' then return 'dead' end
  if redis.pcall('HGET', running_of(owner), id) ~= claim then return 'not held' end
  local beat = call('ZSCORE', KEY.workers, owner)
  if not beat or NOW - tonumber(beat) >= silence then return 'silent' end
end

local function rescue(id, owner, claim, reason)
  local death = {incarnation = owner, cause = 'owner ' .. reason, runs = tonumber(ARGV[5])}
  if reason ~= 'not held' and owner ~= '' then recover(death) end
  death.shared = false
  recover_task(id, claim, death, true)
  redis.pcall('HDEL', running_of(owner), id)
end

local pattern = string.gsub(T, '[%*%?%[%]\\]', '\\%0') .. NAME.task .. '*'
local found = call('SCAN', cursor, 'MATCH', pattern, 'COUNT', page)
local answer, put = {found[1]}, {}
for _, key in ipairs(found[2]) do
  local id = string.sub(key, #T + 6)
  local r = read(id, 'state', 'owner', 'claim')
  r[2], r[3] = r[2] or '', r[3] or ''
  local reason = r[1] == 'working' and why(id, r[2], r[3])
  if put_back and not reason then each_task(id, nil, nil, end_again) end
  if reason then
    for _, item in ipairs({id, r[2], reason}) do answer[#answer + 1] = item end
    if put_back then put[#put + 1] = {id, r[2], r[3], reason} end
  end
end
for _, one in ipairs(put) do each_task(one[1], nil, nil, rescue, one[2], one[3], one[4]) end
return answer
