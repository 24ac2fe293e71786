-- One task at one moment, with or without its payloads.
-- KEYS: the public queue. ARGV: task id, payloads (1 or 0).
-- Answers: {record as pairs, dead letter (1 or 0), number of pending messages, trail, operation, result, checkpoint, tasks that it waits
--       for}.
-- A payload is '' if there is none. An empty answer: the id is unknown. damaged: the key of its record holds something else.
-- flags: no-writes, allow-oom
-- use: task_record ties trail
local LOOKS = 1000   -- history items without a result that are skipped
local id, payloads = ARGV[1], ARGV[2] == '1'
local record = redis.pcall('HGETALL', KEY.task .. id)
if record.err then return 'damaged' end
if #record == 0 then return {} end
local dead = call('ZSCORE', KEY.dead, id) and 1 or 0
local pending = call('LLEN', KEY.pending .. id)
local parents = ties().parents_of(id)
if not payloads then return {record, dead, pending, trail_of(id), '', '', '', parents} end

local turn = tonumber(read(id, 'turn')[1] or nil) or 1   -- Python reports a record that cannot be read
-- A turn that waits or runs has no result yet: show the turn before it. Messages that joined a turn have no results of their own.
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
