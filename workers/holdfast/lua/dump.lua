-- Whole tasks, at one moment, as `restore` takes them.
-- KEYS: the public queue. ARGV: task ids; unknown ones are left out.
-- Answers: {the last event of all ('' for none), time (ms), tasks, ids of those that somebody has damaged}; a task is {id, record as pairs, moment it became a dead letter ('' if
--       it is none), operation, history, result of its turn, pending, message ids and digests as pairs, checkpoint, trail, ties,
--       its webhooks that wait: name, turn, state, URL and moment of each}.
-- flags: no-writes, allow-oom
-- use: clock record outbox
local TOLD = call('EXISTS', T .. 'webhooks') == 0

local function dumped(id)
  local record = call('HGETALL', T .. 'task:' .. id)
  return #record > 0 and {
    id, record, call('ZSCORE', T .. 'dead', id) or '', call('GET', T .. 'op:' .. id) or '',
    call('LRANGE', T .. 'history:' .. id, 0, -1), call('GET', T .. 'result:' .. id .. ':' .. (read(id, 'turn')[1] or '')) or '',
    call('LRANGE', T .. 'pending:' .. id, 0, -1), call('HGETALL', T .. 'messages:' .. id),
    call('GET', T .. 'checkpoint:' .. id) or '', call('LRANGE', T .. 'trail:' .. id, 0, -1),
    call('SMEMBERS', T .. 'ties:' .. id), TOLD and {} or outbox().of(id),
  }
end

-- A key of it holds something else: that is its own trouble, and not that of the others.
local function is_damage(error) return string.find(type(error) == 'table' and error.err or error, 'WRONGTYPE', 1, true) end

local tasks, damaged = {}, {}
for _, id in ipairs(ARGV) do
  local whole, task = pcall(dumped, id)
  if whole and task then tasks[#tasks + 1] = task
  elseif not whole and is_damage(task) then damaged[#damaged + 1] = id
  elseif not whole then error(task) end
end
local last = call('XREVRANGE', T .. 'events', '+', '-', 'COUNT', 1)[1]
return {last and last[1] or '', NOW, tasks, damaged}
