-- use: task_record journal
-- provides: keep_pause pause_in is_pause_asked withdraw_pause carry_out_pause
-- A pause of a working task is kept in its record, so that it outlives the worker and the hint: field `pause` holds `asked`
-- or `withdrawn`, the claim, the reason. It counts for that claim alone. As soon as the task works no longer and has not ended,
-- the pause is carried out.
local function keep_pause(id, word, claim, reason)
  write(id, 'pause', word .. ' ' .. claim .. ' ' .. reason)
end

-- Answers the word and the reason of a kept pause (`kept`: the field), or nil where it is none of this claim.
local function pause_in(kept, claim)
  local word, of, reason = string.match(kept or '', '^(%a+) (%S+) (.*)$')
  if of == claim then return word, reason end
end

local function is_pause_asked(kept, claim) return pause_in(kept, claim) == 'asked' end

-- Withdraws the pause that was requested of a working task. A worker that has stopped the task by then gives it back. `kept`: the
-- field.
local function withdraw_pause(id, claim, kept, reason)
  if not is_pause_asked(kept, claim) then return end
  keep_pause(id, 'withdrawn', claim, reason)
  note('pause-withdrawn', id, reason)
end

-- Carries out a pause when the task has left `working`; `claim`: the claim that it had.
local function carry_out_pause(id, claim)
  local r = read(id, 'pause', 'state', 'lane')
  local word, reason = pause_in(r[1], claim)
  if word ~= 'asked' or (r[2] ~= 'submitted' and r[2] ~= 'delayed') then return end
  call('HDEL', KEY.task .. id, 'pause')
  leave_index(id, r[2], r[3])
  park(id, 'suspended', reason)
  note('suspended', id, reason)
end
