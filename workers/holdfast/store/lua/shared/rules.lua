-- use: clock
-- provides: is_bounded count_bounds add_rules
-- Reads the bounds of lanes and handlers from the hash `rules`. A bound that an operator has set (`asked:`) overrides one from the settings
-- of a host (`set:`, `value@host`). The value `none` of an operator means no bound.
--   limit <lane>: tasks that run at once.  keys <lane>: of those, tasks of one key (1 if there is none).
--   rate <lane>, name <handler>: starts in a time, as count/period in ms/burst.  paused <lane>: since when, and why.
--   end <lane>: `tail` if its producers LPUSH; these lanes are in the set `turned`.
-- If there are no rules and no task waits at a gate, one command finds that out. The functions are defined only if they are needed:
-- defining one costs as much as a command.
local bounded   -- nil before the first look

local function is_bounded()
  if bounded == nil then bounded = call('EXISTS', KEY.rules, KEY.gated) > 0 end
  return bounded
end

-- Notes that this call has changed bounds, so that it looks at them from now on.
local function count_bounds() bounded = true end

local function add_rules(b)
  local known = {}

  -- The bound in force, or false.
  function b.rule(name, subject)
    if not is_bounded() then return false end
    local key = name .. ':' .. subject
    if known[key] == nil then
      local r = call('HMGET', KEY.rules, 'asked:' .. key, 'set:' .. key)
      local value = r[1] or (r[2] and string.match(r[2], '^[^@]*'))
      known[key] = value ~= 'none' and value or false
    end
    return known[key]
  end

  function b.is_paused(lane) return call('HEXISTS', KEY.rules, 'paused:' .. lane) == 1 end

  local function remember(name, subject, used)
    call('HSET', KEY.rates, name .. ':' .. subject, string.format('%.3f', used))
  end

  -- Reads a rate, and how far it is used up. The latter is one moment (GCRA): the time until which the starts so far would last if they
  -- were even. It is never further ahead than the burst lasts, so that a clock that was set back stops nobody for long.
  local function rate_of(name, subject)
    local count, period, burst = string.match(b.rule(name, subject) or '', '^(%d+)/(%d+)/(%d+)$')
    if not count or tonumber(count) == 0 then return end
    local interval = period / count
    local used = tonumber(call('HGET', KEY.rates, name .. ':' .. subject) or '0') or 0
    local farthest = NOW + interval * burst
    if used > farthest + 1 then remember(name, subject, farthest) end
    return interval, tonumber(burst), math.min(math.max(used, NOW), farthest)
  end

  -- How many tasks this rate allows to start now.
  function b.allowed(name, subject)
    local interval, burst, used = rate_of(name, subject)
    if not interval then return math.huge end
    return math.floor((NOW - used) / interval + burst + 0.000001)
  end

  function b.spend(name, subject)
    local interval, _, used = rate_of(name, subject)
    if interval then remember(name, subject, used + interval) end
  end

  -- When the next task may start. With a burst: when half of the burst may start, so that workers are woken less often.
  function b.ready_at(name, subject)
    local interval, burst, used = rate_of(name, subject)
    return math.ceil(used + (math.max(1, math.floor(burst / 2)) - burst) * interval)
  end
end
