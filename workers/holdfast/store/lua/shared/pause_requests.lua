-- use: task_record journal
-- provides: keep_pause pause_in is_pause_asked withdraw_pause carry_out_pause
-- A pause of a working task is kept in its record, so that it is not lost with the worker or the hint. The field `pause` has the word
-- `asked` or `withdrawn`, the claim, the reason. The pause counts for this claim only. It is carried out as soon as the task no longer
-- works and has not ended.
local function keep_pause(id, word, claim, reason)
  write(id, 'pause', word .. ' ' .. claim .. ' ' .. reason)
end

-- The word and the reason of a kept pause (`kept`: the field); nil if it does not count for this claim.
local function pause_in(kept, claim)
  local word, of, reason = string.match(kept or '', '^(%a+) (%S+) (.*)$')
  if of == claim then return word, reason end
end

local function is_pause_asked(kept, claim) return pause_in(kept, claim) == 'asked' end

-- Withdraws the requested pause of a working task. If a worker has already stopped the task, it gives the task back. `kept`: the field.
local function withdraw_pause(id, claim, kept, reason)
  if not is_pause_asked(kept, claim) then return end
  keep_pause(id, 'withdrawn', claim, reason)
  note('pause-withdrawn', id, reason)
end

-- Carries out a kept pause after the task has left the state working. `claim`: the claim that it had.
local function carry_out_pause(id, claim)
  local r = read(id, 'pause', 'state', 'lane')
  local word, reason = pause_in(r[1], claim)
  if word ~= 'asked' or (r[2] ~= 'submitted' and r[2] ~= 'delayed') then return end
  call('HDEL', KEY.task .. id, 'pause')
  leave_index(id, r[2], r[3])
  park(id, 'suspended', reason)
  note('suspended', id, reason)
end
