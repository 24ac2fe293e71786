-- provides: damaged_queue_keys
-- The keys that a queue has exactly once, by their types. Only scripts write them. If a key holds another type, it is removed, and what the
-- records say of it is put back (see mend). `meta`, `rules` and `quiet` have the orders of operators, which no record knows. So these keys
-- stay, and calls that need one are refused with its name, until somebody has moved the key.
-- Answers of each that holds something else: {key, its type}.
local function damaged_queue_keys()
  local TYPES = {
    zset = {KEY.due, KEY.waiting, KEY.parked, KEY.finished, KEY.dead, KEY.cancels, KEY.agenda, KEY.alarms, KEY.unserved, KEY.workers,
      KEY.deaths, KEY.schedules, KEY.batches, KEY.batch_looks, KEY.batches_ended, KEY.webhooks, KEY.receivers, KEY.receivers_prompt, KEY.prompt,
      KEY.conversations, KEY.abouts, KEY.noted, KEY.web_sessions, KEY.bulk_changes, KEY.errors, KEY.asked, KEY.answers},
    hash = {KEY.tally, KEY.unique, KEY.debounce, KEY.seq, KEY.heads, KEY.stale, KEY.tended, KEY.wrong_end, KEY.turns, KEY.rates, KEY.closed,
      KEY.clocks, KEY.published, KEY.ahead, KEY.apart, KEY.receivers_turn, KEY.pushes, KEY.counters},
    set = {KEY.joining, KEY.leftover, KEY.turned, KEY.gated, KEY.handlers, KEY.quarantine, KEY.declared, KEY.catalog_digests},
    list = {KEY.steward_control, KEY.schedules_control, KEY.webhooks_control, KEY.given_up, KEY.unreadable},
    stream = {KEY.events, KEY.activity, KEY.depths},
    string = {KEY.reporter},
  }
  local found = {}
  for kind, keys in pairs(TYPES) do
    for _, key in ipairs(keys) do
      local held = call('TYPE', key).ok
      if held ~= kind and held ~= 'none' then found[#found + 1] = {key, held} end
    end
  end
  return found
end
