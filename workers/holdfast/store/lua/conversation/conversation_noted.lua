-- A page of the tasks that are noted and not submitted.
-- KEYS: the public queue. ARGV: offset, how many tasks to look at.
-- Answers: {the next offset, or -1 at the end; ids and states as pairs}.
-- Keeps: a task that another caller has submitted is noted no more.
-- flags: allow-oom
-- use: conversations
local offset, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids, found = call('ZRANGE', KEY.noted, offset, offset + limit), {}
local more = #ids > limit
if more then ids[#ids] = nil end
for _, id in ipairs(ids) do
  if is_noted(id) then
    found[#found + 1] = id
    found[#found + 1] = noted_state(id)
  else
    end_note(id)
  end
end
return {more and offset + #found / 2 or -1, found}
