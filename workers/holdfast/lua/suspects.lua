-- How many suspects may start now in some lanes: neither paused nor at their limit, nothing keeps those tasks back.
-- Those that something keeps back go to their gates, those that older versions have put elsewhere come here. Where some
-- may start, workers of processes that cannot fork are told to look: no bell is rung for a suspect.
-- KEYS: the public queue. ARGV: the lanes.
-- Answers: {how many, as far as they were looked at; how many of them are to run while no other quarantine worker of their
--           host runs: suspects by recoveries}.
-- Keeps: I3.
-- flags: allow-oom
-- use: suspects hint
local MOVED_AT_ONCE = 100
for _, incarnation in ipairs(call('SMEMBERS', T .. 'quarantine')) do
  if not call('ZSCORE', T .. 'workers', incarnation) then call('SREM', T .. 'quarantine', incarnation) end
end
if call('EXISTS', T .. 'solo') == 1 then move_solo(MOVED_AT_ONCE) end
local startable, alone = 0, 0
suspects().visit_all(ARGV, function(_, _, r)
  startable = startable + 1
  if r[7] == '1' then alone = alone + 1 end
end)
if startable == 0 then return {0, 0} end
for _, incarnation in ipairs(call('ZRANGE', T .. 'workers', 0, -1)) do
  local single = call('HGET', T .. 'worker:' .. incarnation, 'kind') == 'single'
  if single and call('EXISTS', T .. 'control:' .. incarnation) == 0 then hint(incarnation, 'look') end
end
return {startable, alone}
