-- One task, whole or without its payloads, at one moment.
-- KEYS: the public queue. ARGV: task id, payloads (1 or 0).
-- Answers: {record as pairs, dead (1 or 0), pending, trail, operation, result, checkpoint, tasks it waits for}; payloads ''
-- where there are none; nothing for an unknown id. damaged: the key of its record holds something else.
-- flags: no-writes, allow-oom
-- use: task_record ties trail
local LOOKS = 1000   -- messages of one turn that are passed over
local id, payloads = ARGV[1], ARGV[2] == '1'
local record = redis.pcall('HGETALL', KEY.task .. id)
if record.err then return 'damaged' end
if #record == 0 then return {} end
local dead = call('ZSCORE', KEY.dead, id) and 1 or 0
local pending = call('LLEN', KEY.pending .. id)
local parents = ties().parents_of(id)
if not payloads then return {record, dead, pending, trail_of(id), '', '', '', parents} end

local turn = tonumber(read(id, 'turn')[1] or nil) or 1   -- a record that cannot be read is told of by its reader
-- A turn that waits or runs has no result yet: show the one before it. Messages that joined a turn have none of their own.
local history = KEY.history .. id
local function last_result()
  for at = -1, -2 * LOOKS, -2 do
    local result = redis.pcall('LINDEX', history, at)
    if result ~= '' then return type(result) == 'string' and result end
  end
end
local result = call('GET', KEY.result .. id .. ':' .. turn) or last_result()
return {record, dead, pending, trail_of(id), call('GET', KEY.op .. id) or '',
  result or '', call('GET', KEY.checkpoint .. id) or '', parents}
