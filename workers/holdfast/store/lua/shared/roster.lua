-- use: task_record
-- Another text when a worker has registered, begun to drain, or gone: who has looked at all workers need not look again before
-- that. Of one that drains an earlier version does not tell, nor of one that registers as another goes.
local function roster()
  return (call('HGET', T .. 'meta', 'roster') or '0') .. ' ' .. call('ZCARD', T .. 'workers')
end
