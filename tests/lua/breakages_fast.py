"""Ways in which the parts that answer usual calls are broken on purpose; that the operation answers or writes something else notices, or the test that is named."""

from __future__ import annotations

from typing import Any

from tests.lua import test_after as after
from tests.lua import test_damaged as damaged
from tests.lua import test_fast as usual
from tests.lua import test_foreign as foreign
from tests.lua import test_inbox as inbox
from tests.lua import test_rollup as rollup
from tests.lua import test_story as story
from tests.lua import test_weights as weights

# ruff: noqa: E501 - a table: one row, one breakage
# fmt: off
BREAKAGES: list[tuple[Any, ...]] = [
    ("another field is usual", "fast_record", "fields ~= claimed - CLAIM_FIELDS", "false"),
    ("a record that has lost a field is usual", "fast_record", "local claimed = number_of_fields(r[6], r[7], r[8])", "local claimed = (fields == FIELDS and FIELDS or number_of_fields(r[6], r[7], r[8]) - CLAIM_FIELDS) + CLAIM_FIELDS", damaged.test_a_task_with_a_name_that_has_lost_what_it_was_submitted_with_is_not_claimed, ("digest",)),
    ("any number is usual", "fast_record", " or r[4] ~= seq", ""),
    ("a record made at any time is usual", "fast_record", "not (is_number(r[5]) and ", "not (", damaged.test_others_are_claimed, (damaged.undated,)),
    ("any claim is usual", "fast_record", " or r[2] ~= claim", ""),
    ("a claim of the whole operation makes the settlement unusual", "claims", "  if fields then\n", "  if false then\n", usual.test_a_busy_worker_has_usual_claims_again_after_an_unusual_task),
    ("a claim of the whole operation counts other fields", "claims", "select(5, read_new(id, r[13]))", "select(5, read_new(id, r[13])) and 1", usual.test_a_busy_worker_has_usual_claims_again_after_an_unusual_task),
    ("any text is a number", "fast_record", "return not text or (", "return true or ("),
    ("a paused lane is usual", "fast_pull", "KEY.rules, KEY.gated, KEY.closed", "KEY.gated"),
    ("what is due is usual", "fast_pull", "return call('ZCOUNT', KEY.due, '-inf', NOW) + call", "return call"),
    ("an old request is usual", "fast_pull", " or tonumber(ARGV[2]) ~= (tonumber(r[2]) or 0) + 1", ""),
    ("any outcome is usual", "fast_pull", "#s > PLAIN or ", ""),
    ("one settlement twice is usual", "fast_pull", "#s > PLAIN or met[id] then", "#s > PLAIN then"),
    ("a checkpoint is usual", "fast_pull", ", KEY.checkpoint .. id\n", ", KEY.trail .. id\n"),
    ("children are forgotten", "fast_pull", "call('EXISTS', KEY.waiting, KEY.parked) > 0", "call('EXISTS', KEY.parked) > 0", after.test_a_child_of_a_usual_task_begins_at_its_end),
    ("paused children are forgotten", "fast_pull", "call('EXISTS', KEY.waiting, KEY.parked) > 0", "call('EXISTS', KEY.waiting) > 0", after.test_a_paused_child_of_a_usual_task_begins_when_resumed),
    ("any parent is usual", "fast_pull", "call('EXISTS', KEY.children .. id) == 1", "false", after.test_a_child_of_a_usual_task_begins_at_its_end),
    ("a message that waits is usual", "fast_pull", "= KEY.trail .. id, KEY.checkpoint", "= KEY.checkpoint .. id, KEY.checkpoint", usual.test_a_message_that_came_while_a_usual_task_ran_is_its_next_turn),
    ("what is tied to a task is usual", "fast_pull", "call('EXISTS', unpack(rest)) == 0", "true"),
    ("an entry twice is usual", "fast_pull", "if id and number > highest then", "if id then"),
    ("any handler's tasks are usual", "fast_pull", "and has_name(names, name or '') and", "and"),
    ("no operation is usual", "fast_pull", " and holds_operation(raw, id, seq)\n", "\n"),
    ("the index of what has ended is forgotten", "fast_pull", "redis.pcall('ZADD', KEY.finished, unpack(finished))", "1"),
    ("another field at the end is usual", "fast_record", "number_in[r[4]] ~= fields", "false", weights.test_a_webhook_that_a_running_task_gets_is_told_of_its_end),
    ("a short row tells no timeout", "fast_pull", "most or '', timeout or '', raw,", "most or '', '', raw,"),
    ("a short row tells no attempts", "fast_pull", "most or '', timeout or '', raw,", "'', timeout or '', raw,"),
    ("the claim of a record is forgotten", "fast_pull", ", 'claimed', notes[i])", ")"),
    ("the end of a task with a trail is usual", "fast_pull", "= KEY.trail .. id, KEY.checkpoint", "= KEY.checkpoint .. id, KEY.checkpoint", story.test_what_is_noted_after_a_claim_stands_behind_it),
    ("the claim in a record is not read", "trail", "if r.err or not r[1] then", "if true then", story.test_the_trail_of_a_usual_task_stands_in_its_record),
    ("the end in a record is not read", "trail", "if is_all and", "if false and", story.test_the_trail_of_a_usual_task_stands_in_its_record),
    ("the end is read twice", "trail", "if is_all and r[2]", "if r[2]", story.test_what_is_noted_after_a_claim_stands_behind_it),
    ("a ledger is not given the trail in a record", "dump", "weigh(trail_of(id))", "weigh(call('LRANGE', KEY.trail .. id, 0, -1))", story.test_a_ledger_keeps_the_trail_that_stands_in_a_record),
    ("a ledger is given the claim in a record twice", "dump", "if record[i] == 'claimed' then", "if false then", story.test_a_ledger_keeps_the_trail_that_stands_in_a_record),
    ("the head of the lane is forgotten", "fast_pull", "      call('HSET', KEY.heads, lane.name, math.max(lane.highest, tonumber(call('HGET', KEY.heads, lane.name) or '0') or 0))\n", ""),
    ("what differs is told in one event", "journal", "if details[i] ~= details[first] or", "if not ids[i] or", story.test_an_event_names_only_tasks_with_the_same_detail),
    ("an event names any number of tasks", "journal", " or i - first == NAMED_AT_ONCE then", " then", story.test_an_event_of_several_tasks_is_one_of_each),
    ("a ledger reads one task of an event", "follow", "for id in string.gmatch(e.id, '%S+') do name_task(id) end", "name_task(string.match(e.id, '%S+'))", story.test_a_ledger_reads_each_task_that_an_event_names),
    ("others are not told of the rest", "fast_pull", "  if waiting > #rows then ring_on(offers, busy) end\n", ""),
    ("others are told of lanes that are empty", "fast_pull", "    if left > 0 then ring(", "    if true then ring("),
    ("others are told of the first lane alone", "fast_pull", "    if left > 0 then ring(", "    if left > 0 and i == 1 then ring("),
    ("lanes take no turns", "fast_pull", "  if #weights > 0 then shares, had", "  if false then shares, had"),
    ("turns are not noted", "fast_pull", "  if turned then note_turns(turned.lanes, turned.had) end\n", ""),
    ("lanes without weights take turns", "fast_pull", "  if #weights > 0 then shares, had = turns(lanes, weights, offers, want) end\n", "  if #weights == 0 then weights = {1, 1} end\n  shares, had = turns(lanes, weights, offers, want)\n"),
    ("what waits in one lane alone is counted", "fast_pull", "waiting, busy[#busy + 1] = waiting + offer, {", "waiting, busy[#busy + 1] = math.max(waiting, offer), {"),
    ("a pushed task that is known is new", "fast_foreign", "call('EXISTS', KEY.task .. id, KEY.cancels)", "call('EXISTS', KEY.cancels)"),
    ("a pushed task forgets a cancel that came first", "fast_foreign", "call('EXISTS', KEY.task .. id, KEY.cancels)", "call('EXISTS', KEY.task .. id)", foreign.test_a_cancel_that_came_first_ends_a_pushed_task),
    ("any handler's pushed tasks are usual", "fast_foreign", " or not has_name(names, name)", ""),
    ("any pushed order is a run", "fast_foreign", "verb ~= 'run' or ", "not verb or ", foreign.test_an_order_that_is_pushed_alone_makes_no_task),
    ("an entry of ours is a pushed one", "fast_foreign", " or string.find(raw, '{\"_b\":\"', 1, true) == 1 then", " then", foreign.test_an_own_entry_of_nobody_is_dropped_and_counted),
    ("large pushed entries are read", "fast_foreign", "if #raw > READ_BYTES or ", "if ", inbox.test_a_large_entry_runs_with_all_its_bytes),
    ("a pushed task is not counted", "fast_foreign", "  count('accepted')\n", ""),
    ("a pushed task forgets its name", "fast_foreign", "name ~= '' and {'name', name} or {}", "{}"),
    ("a known task is new", "fast_submit", "call('EXISTS', unpack(keys)) == 0 and ", ""),
    ("a task twice is new twice", "fast_submit", "if met[id] or ", "if "),
    ("any lane is the first one", "fast_submit", "ARGV[i + 4] ~= NEW_LANE or ", ""),
    ("a delay is usual", "fast_submit", " or ARGV[i + 6] ~= ''", ""),
    ("a concurrency key is usual", "fast_submit", " or ARGV[i + 10] ~= ''", ""),
    ("a cancel that came first is forgotten", "fast_submit", "KEY.cancels, KEY.turned", "KEY.turned"),
    ("accepted tasks are not counted", "fast_submit", "  call('HINCRBY', KEY.counters, 'accepted', number)\n", ""),
    ("a worker is not told of new tasks", "fast_submit", "  ring(NEW_LANE)\n", ""),
    ("what completes is not counted", "fast_pull", "  roll_alike(settlements)\n", "", rollup.test_outcomes_of_one_request_are_counted_by_handler),
    ("all handlers of a request count as its first", "fast_pull", " or following.name ~= s.name then", " then", rollup.test_outcomes_of_one_request_are_counted_by_handler),
]
