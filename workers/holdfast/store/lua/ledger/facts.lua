-- The settings that a ledger keeps besides tasks, at one moment, as `restore_facts` takes them. By name: `schedule|<id>`, `rules|` (bounds and
-- pauses of lanes), `quiet|` (hosts that claim nothing), `webhook|` (that of the queue).
-- KEYS: the public queue. ARGV: the ledger's epoch, the last event it has seen ('' for none), names.
-- Answers: elsewhere: this Redis is not (any more) what that ledger follows. Or {the last event of all ('' for none), per name its
--       content as pairs, empty where there is none}. What is not there was removed: the Redis has not forgotten it.
-- flags: no-writes, allow-oom
-- use: ledger_standing
if not is_believed(ARGV[1], ARGV[2]) then return 'elsewhere' end

local function content_of(name)
  local kind, id = string.match(name, '^(%a+)|(.*)$')
  if kind == 'schedule' then
    local fields = redis.pcall('HGETALL', KEY.schedule .. id)   -- an earlier version keeps the history of another there
    return fields.err and {} or fields
  end
  if kind == NAME.rules or kind == NAME.quiet then return call('HGETALL', T .. kind) end
  local url = call('HGET', KEY.meta, 'webhook')
  return url and {'url', url} or {}
end

local contents = {}
for i = 3, #ARGV do contents[i - 2] = content_of(ARGV[i]) end
local last = call('XREVRANGE', KEY.events, '+', '-', 'COUNT', 1)[1]
return {last and last[1] or '', contents}
