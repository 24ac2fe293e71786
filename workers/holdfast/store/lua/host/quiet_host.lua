-- Make a host, or all hosts, claim nothing more until `resume_host`, also processes that start meanwhile. Running
-- tasks go on to their end, submitted ones wait, schedules fire. A halt does more: stewards of supervised pools make no fires, and
-- `work` and `dispatch` processes that were started before it end.
-- KEYS: the public queue. ARGV: mark (a host, `*` for all, or `halt ` and one of these), the order's author, its reason.
-- Answers: {quiet, or again if it was said before (author and reason are the new ones, its time stays), or halted: each halt is a new one;
--           workers of it that claim nothing}.
-- Keeps: I18: a worker is marked exactly if its host, or all, were told; the number of a halt is higher than that of any before.
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
