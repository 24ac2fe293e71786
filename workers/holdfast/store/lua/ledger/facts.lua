-- Read the settings that a ledger keeps, at one moment, in the form that `restore_facts` takes. Their names: `schedule|<id>`,
-- `rules|` (limits and pauses of lanes), `quiet|` (quiet hosts), `webhook|` (that of the queue).
-- KEYS: the public queue. ARGV: the ledger's epoch, the last event it has seen ('' for none), names.
-- Answers: elsewhere: that ledger does not, or no longer, follow this Redis. Or {the last event of all ('' for none), per name its
--       content as pairs}. Empty content: the setting was removed, as this Redis has lost nothing.
-- flags: no-writes, allow-oom
-- use: ledger_standing
if not is_believed(ARGV[1], ARGV[2]) then return 'elsewhere' end

local function content_of(name)
  local kind, id = string.match(name, '^(%a+)|(.*)$')
  if kind == 'schedule' then
    local fields = redis.pcall('HGETALL', KEY.schedule .. id)   -- somebody may have put something else there
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
