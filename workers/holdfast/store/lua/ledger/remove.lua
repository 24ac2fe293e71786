-- Remove tasks again that were removed before this Redis was set back: the ledger knows of their removal.
-- KEYS: the public queue.
-- ARGV: the ledger's epoch, then of each task: its id, when that life of it was created, the epoch and the number of its removal.
-- Answers: other: this Redis is not that ledger's, nothing was written. Or the number of tasks of which there is more to remove.
--       Another life of an id stays. So does a task whose last change came after the removal.
-- Keeps: I1, I3, I6, I14. A task that has not ended here is taken from its place, and nobody runs it.
-- flags: allow-oom
-- use: earlier_record amendments deletion damage clock task_record
local epochs = call('HMGET', KEY.meta, 'rebuilding', 'ledger')
if epochs[1] ~= ARGV[1] and epochs[2] ~= ARGV[1] then return 'other' end

-- A task that has not ended here had ended before it was removed: it is counted like any task that has ended and is deleted.
local function end_silently(id)
  leave_place(id)
  write(id, 'state', 'canceled', 'owner', '', 'claim', '', 'due', '', 'seq', 0, 'finished', NOW)
  count_in(KEY.finished, id, 'canceled')
end

local function remove(id, created, epoch, number)
  local r = read(id, 'created', 'amended', 'state')
  if r[1] ~= created then return 0 end
  local known, changes = amendment_in(r[2])
  if known > epoch or (known == epoch and changes > number) then return 0 end
  if not TERMINAL[r[3]] then
    if flaw_in(facts(id)) then return 0 end   -- it cannot run
    end_silently(id)
  end
  call('UNLINK', KEY.left .. id)
  call('SREM', KEY.leftover, id)
  return 1 - forget({id}, 'again')
end

local more = 0
for i = 2, #ARGV, 4 do
  local went, left = attempt(remove, ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
  more = more + (went and left or 0)
end
return more
