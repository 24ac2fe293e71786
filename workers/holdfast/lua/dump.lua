-- Whole tasks, at one moment, as `restore` takes them.
-- KEYS: the public queue. ARGV: task ids; unknown ones are left out.
-- Answers: {the last event of all ('' for none), time (ms), tasks}; a task is {id, record as pairs, moment it became a dead letter ('' if
--       it is none), operation, history, result of its turn, pending, message ids and digests as pairs, checkpoint, trail, ties,
--       its webhooks that wait: name, turn, state, URL and moment of each}.
-- flags: no-writes, allow-oom
-- use: clock record outbox
local TOLD = call('EXISTS', T .. 'webhooks') == 0
local tasks = {}
for _, id in ipairs(ARGV) do
  local record = call('HGETALL', T .. 'task:' .. id)
  if #record > 0 then
    tasks[#tasks + 1] = {
      id, record, call('ZSCORE', T .. 'dead', id) or '', call('GET', T .. 'op:' .. id) or '',
      call('LRANGE', T .. 'history:' .. id, 0, -1), call('GET', T .. 'result:' .. id .. ':' .. read(id, 'turn')[1]) or '',
      call('LRANGE', T .. 'pending:' .. id, 0, -1), call('HGETALL', T .. 'messages:' .. id),
      call('GET', T .. 'checkpoint:' .. id) or '', call('LRANGE', T .. 'trail:' .. id, 0, -1),
      call('SMEMBERS', T .. 'ties:' .. id), TOLD and {} or outbox().of(id),
    }
  end
end
local last = call('XREVRANGE', T .. 'events', '+', '-', 'COUNT', 1)[1]
return {last and last[1] or '', NOW, tasks}
