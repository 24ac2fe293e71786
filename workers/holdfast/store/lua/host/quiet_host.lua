-- Make the workers of a host, or of all hosts, claim nothing until `resume_host`, also workers that start meanwhile. Running tasks go on,
-- submitted ones wait, schedules fire. A halt does more: stewards of supervised pools make no fires, and the `work` and `dispatch`
-- processes that were started before the halt end.
-- KEYS: the public queue. ARGV: mark (a host, `*` for all, or `halt ` and one of these), who gave the order, the reason.
-- Answers: {quiet; again: the host was quiet before, and the order gets the new author and reason and keeps its time; or halted: each halt
--       is new; then the number of its workers that claim nothing}.
-- Keeps: I18: a worker is marked exactly if its host, or all hosts, are quiet or halted. The number of a halt is higher than that of any
--       before.
-- flags: allow-oom
-- use: hosts clock journal
local mark, by, reason = unpack(ARGV)
local host, is_halt = mark_of(mark)

local function next_number()
  local number = math.max(NOW, (tonumber(call('HGET', KEY.meta, 'halt') or '0') or 0) + 1)
  call('HSET', KEY.meta, 'halt', number, mark, number)
  return number
end

local known = call('HGET', KEY.quiet, mark)
local first = is_halt and next_number() or known and string.match(known, '^%d+') or NOW
call('HSET', KEY.quiet, mark, first .. '\n' .. by .. '\n' .. reason)
if is_halt then tell('host-halted', host, first .. ' ' .. by .. ' ' .. reason)
elseif not known then tell('host-quiet', host, by .. ' ' .. reason) end
return {is_halt and 'halted' or known and 'again' or 'quiet', mark_workers(host, true)}
