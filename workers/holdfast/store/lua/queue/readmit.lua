-- Put an entry that was set aside back into its lane, to be read once more.
-- KEYS: the public queue. ARGV: the entry as it was set aside.
-- Answers: back; gone (it is no longer set aside); or cut (only its beginning was kept).
-- Keeps: I6: it leaves where it was kept when it is in its lane.
-- flags: allow-oom
-- use: lane damage
local size, lane, raw = string.match(ARGV[1], '^%d+|(%d+)@?([^|]*)|[^|]*|(.*)$')
if tonumber(size) ~= #raw then return 'cut' end
if call('LREM', KEY.unreadable, 1, ARGV[1]) == 0 then return 'gone' end
lane = lane == '' and QUEUE or string.gsub(lane, '%%%x%x', {['%25'] = '%', ['%7C'] = '|'})
on_lane('RPUSH', lane, raw)
if own(raw) then look_again(own(raw)) end
ring(lane)
return 'back'
