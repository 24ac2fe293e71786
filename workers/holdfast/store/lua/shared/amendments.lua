-- use: task_record
-- provides: amendment_in amend next_amendment
-- Numbers the changes of a task after its end, while a ledger follows this Redis: a retry, a webhook that was posted or moved, a removal.
-- The field `amended` of the record has two numbers: the number of the ledger's epoch, and the count of these changes. Of two records of
-- one ended task, the one with the higher pair is the later one. This also holds after this Redis was set back.
local function amendment_in(text)
  local epoch, number = string.match(text or '', '^(%d+) (%d+)$')
  if not epoch or #epoch > 15 or #number > 15 then return 0, 0 end
  return tonumber(epoch), tonumber(number)
end

-- The pair of the next change of this task; nil if no ledger follows this Redis.
local function next_amendment(id)
  local ledgers = call('HMGET', KEY.meta, 'ledger', 'rebuilding')
  local ledger = ledgers[1] or ledgers[2]
  if not ledger then return nil end
  local epoch, number = amendment_in(read(id, 'amended')[1])
  return string.format('%d %d', math.max(epoch, tonumber(string.match(ledger, '^(%d+)-') or '0')), number + 1)
end

local function amend(id)
  local amendment = next_amendment(id)
  if amendment then write(id, 'amended', amendment) end
end
