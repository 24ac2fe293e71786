-- use: clock
-- provides: is_bounded count_bounds add_rules
-- Reads the bounds of lanes and handlers from the hash `rules`. A bound that an operator has set (`asked:`) counts before one from
-- the settings of a host (`set:`, `value@host`); an operator's `none` means no bound.
--   limit <lane>: tasks that run at once.  keys <lane>: of those, tasks of one key (1 where nothing is said).
--   rate <lane>, name <handler>: starts in a time, as count/period in ms/burst.  paused <lane>: since when, and why.
--   end <lane>: `tail`, where its producers LPUSH; those lanes are in the set `turned`.
-- Where there are no rules and nobody waits at a gate, all this costs one look. Its functions are made only where they
-- are needed: in the server, making one at each call of a script costs as much as a command.
local bounded   -- nil before the first look

local function is_bounded()
  if bounded == nil then bounded = call('EXISTS', KEY.rules, KEY.gated) > 0 end
  return bounded
end

-- The bounds have just been changed: from now on this call looks at them.
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

  -- A rate is kept as one moment (GCRA): until when the starts so far have used it up, had they been even. It never
  -- lies further ahead than the burst takes, so that a clock that was set back stops nobody for long.
  local function rate_of(name, subject)
    local count, period, burst = string.match(b.rule(name, subject) or '', '^(%d+)/(%d+)/(%d+)$')
    if not count or tonumber(count) == 0 then return end
    local interval = period / count
    local used = tonumber(call('HGET', KEY.rates, name .. ':' .. subject) or '0') or 0
    local farthest = NOW + interval * burst
    if used > farthest + 1 then remember(name, subject, farthest) end
    return interval, tonumber(burst), math.min(math.max(used, NOW), farthest)
  end

  -- How many tasks may start now, by this rate.
  function b.allowed(name, subject)
    local interval, burst, used = rate_of(name, subject)
    if not interval then return math.huge end
    return math.floor((NOW - used) / interval + burst + 0.000001)
  end

  function b.spend(name, subject)
    local interval, _, used = rate_of(name, subject)
    if interval then remember(name, subject, used + interval) end
  end

  -- When the next task may start; for a rate with a burst, when half of the burst may, to wake workers less often.
  function b.ready_at(name, subject)
    local interval, burst, used = rate_of(name, subject)
    return math.ceil(used + (math.max(1, math.floor(burst / 2)) - burst) * interval)
  end
end
