-- Empty a lane: its entries from the head, then its gates and its suspects. Each call does a step, bounded by count and bytes. The tasks of
-- own entries are canceled. Foreign entries are dropped and counted.
-- KEYS: the public queue. ARGV: lane, limit.
-- Answers: how many entries went; 0: the lane is empty.
-- flags: allow-oom
-- use: task_record lane lane_front journal task_control stale_entries damage shared_keys
local entries, own_ones = front_of(ARGV[1], tonumber(ARGV[2])), 0
local function leave(id)
  shared('ZREM', KEY.submitted .. ARGV[1], id)
  shared('ZREM', KEY.suspects .. ARGV[1], id)
end

-- Cancels a task. If somebody has deleted its record, only the entry is removed.
local function cancel_known(id) return read(id, 'state')[1] and cancel(id, 'the queue was cleared') end

for _, raw in ipairs(entries) do
  local id = own(raw)
  own_ones = own_ones + (id and 1 or 0)
  if not id then
    count('cleared')
  elseif read(id, 'state')[1] == 'submitted' then
    each_task(id, ARGV[1], leave, cancel_known)
  end
end
if #entries > 0 then on_lane('LPOP', ARGV[1], #entries) end
if own_ones > 0 then fewer_stale(ARGV[1], own_ones) end
if #entries > 0 then return #entries end

-- The list is empty. Now the tasks at the lane's gates, and its suspects.
local went = 0
for _, id in ipairs(shared('ZRANGE', KEY.suspects .. ARGV[1], 0, tonumber(ARGV[2]) - 1)) do
  if each_task(id, ARGV[1], leave, cancel_known) ~= 'canceled' then shared('ZREM', KEY.suspects .. ARGV[1], id) end
  went = went + 1
end
if went > 0 then return went end
local gates = shared('ZRANGE', KEY.gates .. ARGV[1], 0, 0)
for _, name in ipairs(shared('ZRANGE', KEY.unknown .. ARGV[1], 0, 0)) do gates[#gates + 1] = 'unknown:' .. name end
for _, gate in ipairs(gates) do
  for _, id in ipairs(shared('ZRANGE', held_of(ARGV[1], gate), 0, tonumber(ARGV[2]) - 1)) do
    if each_task(id, ARGV[1], leave, cancel_known) ~= 'canceled' then leave_gate(id, ARGV[1], gate, true) end
    went = went + 1
  end
end
return went
