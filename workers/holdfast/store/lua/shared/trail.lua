-- provides: trail_of
-- The trail of a task: its transitions, one line each, in a list. The first claim of a usual task stands in its record instead; so does its
-- end, if nothing else has happened to the task. A list of its own would cost as much as the record.
-- The field `claimed` of such a record: how many fields the record had then, when it was claimed, its claim.

-- The lines of the trail that stand in the record. `is_all`: there is no list, so the task's end stands in the record, too.
local function trail_in_record(id, is_all)
  local r = redis.pcall('HMGET', KEY.task .. id, 'claimed', 'state', 'finished', 'last_claim', 'reason')
  if r.err or not r[1] then return {} end
  local ms, claim = string.match(r[1], '^%d+ (%d+) (.*)$')
  if not ms then return {} end   -- somebody has damaged the field
  local lines = {ms .. ' claimed ' .. claim}
  if is_all and r[2] == 'completed' and r[3] and r[4] then
    lines[2] = r[3] .. ' settled completed 1 ' .. r[4] .. ' ' .. (r[5] or '')
  end
  return lines
end

local function trail_of(id)
  local list = call('LRANGE', KEY.trail .. id, 0, -1)
  local of_record, at = trail_in_record(id, #list == 0), 1
  local claimed_at = tonumber(string.match(of_record[1] or '', '^%d+')) or 0
  while list[at] and (tonumber(string.match(list[at], '^%d+')) or 0) < claimed_at do at = at + 1 end   -- a message may have come before the claim
  for i, line in ipairs(of_record) do table.insert(list, at + i - 1, line) end
  return list
end
