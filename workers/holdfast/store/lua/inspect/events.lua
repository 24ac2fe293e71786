-- The events after a position, oldest first.
-- KEYS: the public queue. ARGV: the position of the last event that the caller has seen ('' for none), limit.
-- Answers: {1 if events after the position were trimmed before they could be read, else 0; events as XRANGE gives them}.
-- flags: no-writes, allow-oom
local key, after = KEY.events, ARGV[1]
local first = call('XRANGE', key, '-', '+', 'COUNT', 1)[1]
if not first then return {0, {}} end

local function number(position)
  local ms, part = string.match(position, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(part)
end

local function is_later(one, other)
  local a, b = {number(one)}, {number(other)}
  return a[1] > b[1] or (a[1] == b[1] and a[2] > b[2])
end

-- True if an event was ever trimmed: more were added than are there.
local function is_cut()
  local told, facts = call('XINFO', 'STREAM', key), {}
  for i = 1, #told, 2 do facts[told[i]] = told[i + 1] end
  return facts['entries-added'] > facts.length
end

local missed = after ~= '' and is_later(first[1], after) and is_cut()
return {missed and 1 or 0, call('XRANGE', key, after ~= '' and '(' .. after or '-', '+', 'COUNT', ARGV[2])}
