"""Every way in which a script is broken on purpose: name, file, what stands there, what is put there, what notices.

Without a test the fuzz has to notice. The first eleven are those of the protocol's reference model; then rule by rule.
"""

from __future__ import annotations

from typing import Any

from holdfast.core.deliveries import Settle
from tests.conformance import test_orders as orders
from tests.lua import test_after as after
from tests.lua import test_audit as audit
from tests.lua import test_bounds as bounds
from tests.lua import test_control as control
from tests.lua import test_early_cancel as early_cancel
from tests.lua import test_expires as expires
from tests.lua import test_foreign as foreign
from tests.lua import test_forgetting as forgetting
from tests.lua import test_gates as gates
from tests.lua import test_given_up as given_up
from tests.lua import test_inbox as inbox
from tests.lua import test_list as listing
from tests.lua import test_messages as messages
from tests.lua import test_once as once
from tests.lua import test_outbox as outbox
from tests.lua import test_pull as pull
from tests.lua import test_quiet as quiet
from tests.lua import test_reap as reap
from tests.lua import test_recover as recover
from tests.lua import test_renew as renew
from tests.lua import test_retry as retry
from tests.lua import test_settle as settle
from tests.lua import test_story as story
from tests.lua import test_strays as strays
from tests.lua import test_submit as submit
from tests.lua import test_suspects as suspects
from tests.lua import test_turned as turned
from tests.lua import test_turns as turns
from tests.lua import test_unknown as unknown
from tests.lua import test_upkeep as upkeep
from tests.lua.operations import resume_with
from tests.schedules import test_keys as keys
from tests.schedules import test_scenarios as scenarios
from tests.schedules import test_spoilt as spoilt
from tests.schedules.stage import on_stage

# ruff: noqa: E501 - a table: one row, one breakage
# fmt: off
BREAKAGES: list[tuple[Any, ...]] = [
    (
        "the dead are not told",
        "pull.lua",
        "if known[1] == 'dead' then return {'DEAD', verdicts, {}, 0, 0} end",
        "",
    ),
    ("a lower request is served", "pull.lua", "if request < tonumber(known[2]) then", "if false then"),
    ("claims are not given again", "pull.lua", "if request == tonumber(known[2]) then", "if false then"),
    ("a settlement needs no claim", "shared/settling.lua", "r[2] ~= s.claim or not OPEN[state]", "not OPEN[state]"),
    (
        "cancel leaves the owner running",
        "shared/record.lua",
        "elseif state == 'working' and owner and owner ~= '' then",
        "elseif false then",
    ),
    ("recover leaves no tombstone", "shared/recovery.lua", "call('HSET', worker, 'state', 'dead', ", "call('HSET', worker, "),
    ("a claim needs no state", "pull.lua", "if state ~= 'submitted' or solo == '1' or", "if solo == '1' or"),
    ("messages may come twice", "shared/message.lua", "  if verdict then return verdict end\n", ""),
    ("audit puts nothing back", "audit.lua", "elseif not is_there(id, seq) then", "elseif false then"),
    ("a retry is not indexed", "shared/lane.lua", "  call('ZADD', T .. 'due', due, id)\n", ""),
    ("waiting messages are dropped", "shared/message.lua", "  if not item then return false end", "  if true then return false end"),
    # Rule 1: numbered requests.
    (
        "a repeated request settles nothing",
        "pull.lua",
        "local verdicts = settle_all()",
        "local verdicts = request ~= tonumber(call('HGET', worker, 'request') or '0') and settle_all() or {'OK'}",
        pull.test_a_repeated_request_settles_what_has_ended_since,
    ),
    ("a draining worker claims", "pull.lua", "local live = known[1] == 'live' and word == 'OK'", "local live = word == 'OK'", pull.test_a_draining_worker_settles_and_claims_nothing),
    ("the last request is not kept", "pull.lua", "call('HSET', worker, 'request', request)", ""),
    # Rule 2: the tombstone.
    ("who never registered is not buried", "shared/recovery.lua", "  call('PEXPIRE', worker, TOMBSTONE_MS)", "  if not call('HGET', worker, 'host') then call('DEL', worker) end\n  call('PEXPIRE', worker, TOMBSTONE_MS)", recover.test_who_died_before_it_registered_is_refused),
    ("the dead commit nothing", "shared/settling.lua", "(state ~= 'working' and not committed)", "state ~= 'working'", settle.test_a_result_from_the_dead_counts_while_nobody_has_claimed_since),
    ("the dead give back", "shared/settling.lua", " or (state ~= 'working' and not committed)", "", settle.test_the_dead_give_nothing_back_twice, (Settle.RELEASE,)),
    ("a tombstone stays for ever", "shared/recovery.lua", "  call('PEXPIRE', worker, TOMBSTONE_MS)\n", ""),
    ("the dead register again", "register.lua", "if known[1] == 'dead' then return 'DEAD' end", "", reap.test_an_incarnation_is_never_used_again),
    # Rule 3: claims are compared for equality.
    ("renew believes any claim", "renew.lua", "r[1] ~= 'working' or r[2] ~= claim", "r[1] ~= 'working'", renew.test_what_is_held_but_no_longer_owned_is_named),
    ("recover believes any claim", "shared/recovery.lua", "r[1] ~= 'working' or r[2] ~= claim", "false", recover.test_a_record_that_is_gone_does_not_stop_recovery),
    ("deliveries do not grow", "shared/claiming.lua", "local delivery = tonumber(r[3] or '0') + 1", "local delivery = tonumber(r[3] or '1')"),
    ("a replayed settlement is lost", "shared/settling.lua", "s.known, 'last_claim', s.claim)", "s.known)", settle.test_an_outcome_ends_the_task_with_its_result, (Settle.COMPLETED,)),
    # Rule 4: nothing is popped before it is journaled.
    ("popped before it is claimed", "pull.lua", "if #window == 0 then break end", "if #window == 0 then break end\n    for _ = 1, #window do call('LPOP', list_of(lane)) end"),
    # Rule 5: duplicates, messages, conflicts, inbox.
    ("other bytes are duplicates", "shared/message.lua", "and known ~= digest then return 'conflict' end", "and false then return 'conflict' end"),
    ("a pushed conflict is dropped", "shared/message.lua", "elseif verdict == 'conflict' then", "elseif false then", foreign.test_other_content_under_a_known_message_id_is_set_aside),
    ("a waiting conflict runs", "pull.lua", "if verdict == 'duplicate' and r[1] == 'submitted' and", "if verdict and r[1] == 'submitted' and", foreign.test_other_content_under_a_known_message_id_is_set_aside),
    ("the inbox of the dead is lost", "shared/recovery.lua", "  return_inbox(incarnation)\n", "  call('DEL', inbox_of(incarnation))\n"),
    ("admitted twice", "admit.lua", "if redis.sha1hex(raw) ~= sha then return 'gone' end", "", inbox.test_an_admission_is_made_once),
    ("an admitted entry stays", "admit.lua", "call('LPOP', inbox)\n", "", inbox.test_large_and_small_entries_stay_in_order),
    ("large entries are overtaken", "pull.lua", "      if inboxed then break end\n", "", inbox.test_large_and_small_entries_stay_in_order),
    ("a late message vanishes", "shared/message.lua", "elseif verdict == 'terminal' then", "elseif false then", foreign.test_a_message_for_an_ended_task_is_set_aside),
    ("waiting messages vanish at the end", "shared/ending.lua", "if rest then drop_rest(id, state) end", "if rest then call('DEL', T .. 'pending:' .. id, T .. 'checkpoint:' .. id) end"),
    ("a message overtakes a suspended turn", "shared/message.lua", "if r[1] == 'suspended' then wait", "if false then wait", messages.test_a_suspended_turn_goes_on_before_the_message_that_woke_it),
    # Rule 6: leases.
    ("one look is enough", "reap.lua", "NOW - tonumber(since) >= grace then", "true then", reap.test_a_lapsed_lease_is_reaped_at_the_second_look),
    ("any two looks are enough", "reap.lua", "elseif beat ~= last then", "elseif not beat then", reap.test_a_frozen_server_makes_nobody_dead, ("renew",)),
    ("nobody is reaped", "reap.lua", "'-inf', NOW - lease", "'-inf', -1", reap.test_a_lapsed_lease_is_reaped_at_the_second_look),
    ("renewing is no heartbeat", "renew.lua", ", 'heartbeat', (known[4] or 0) + 1", "", reap.test_a_frozen_server_makes_nobody_dead, ("renew",)),
    ("vouching is no heartbeat", "reap.lua", " .. (r[3] or '')", "", reap.test_a_frozen_server_makes_nobody_dead, ("vouch",)),
    ("the dead are vouched for", "vouch.lua", "if lives[incarnation] then", "if true then", reap.test_nobody_is_vouched_back_to_life),
    ("losing the host is charged", "reap.lua", "'lease lapsed', false", "'lease lapsed', true", reap.test_a_lapsed_lease_is_reaped_at_the_second_look),
    # Rule 7: held and owned are made the same.
    ("what was dropped stays owned", "renew.lua", "return not held[id] and", "return false and", renew.test_what_is_owned_but_not_held_goes_back_in_order),
    ("what is on its way goes back", "renew.lua", " and tonumber(string.match(claim, ':(%d+)$')) <= answered", ""),
    ("what is held goes back", "renew.lua", "return not held[id] and", "return"),
    # A pause of a working task is kept in its record.
    ("a pause is not kept", "shared/control.lua", "    keep_pause(id, 'asked', r[4], reason)\n", ""),
    ("a pause is forgotten by a release", "shared/settling.lua", "  if s.kind ~= 'suspended' then carry_out_pause(id, s.claim) end\n", ""),
    ("a pause is forgotten by a death", "shared/recovery.lua", "  carry_out_pause(id, claim)\n", ""),
    ("a pause is forgotten by the next turn", "shared/settling.lua", "    carry_out_pause(id, s.claim)\n  elseif", "  elseif", orders.test_a_pause_outlives_the_end_of_a_turn_where_another_waits),
    ("a pause is forgotten by what goes back", "renew.lua", "    carry_out_pause(task.id, task.claim)\n", "", orders.test_a_pause_goes_back_with_what_a_worker_does_not_hold),
    ("a pause is not repeated", "renew.lua", "if is_pause_asked(r[3], claim) then", "if false then", orders.test_a_renewal_repeats_a_pause_until_the_task_ends_or_is_resumed),
    ("a pause outlives its resume", "shared/control.lua", "    keep_pause(id, 'withdrawn', r[3], reason)\n", "", orders.test_a_renewal_repeats_a_pause_until_the_task_ends_or_is_resumed),
    ("a withdrawn pause parks", "shared/settling.lua", "pause_in(s.pause, s.claim) == 'withdrawn'", "false", orders.test_a_pause_that_was_withdrawn_stops_nothing),
    ("a pause counts for any run", "shared/pauses.lua", "  if of == claim then return word, reason end", "  return word, reason", orders.test_a_withdrawn_pause_counts_for_the_run_that_it_met),
    ("a pause is carried out twice", "shared/pauses.lua", "  call('HDEL', T .. 'task:' .. id, 'pause')\n", "", orders.test_a_pause_that_was_carried_out_is_over),
    ("a dead letter is parked", "shared/pauses.lua", " or (r[2] ~= 'submitted' and r[2] ~= 'delayed')", "", orders.test_a_pause_keeps_no_dead_letter_from_its_end),
    # Rule 8: crashes, suspects and their quarantine.
    ("quarantine beside others", "pull.lua", "  if slots == 0 or call('HLEN', running_of(incarnation)) > 0 then return end\n", "", suspects.test_a_quarantine_worker_claims_one_suspect_and_nothing_else),
    ("a quarantine worker claims anything", "pull.lua", "if known[3] == 'quarantine' or (", "if (", suspects.test_a_quarantine_worker_claims_one_suspect_and_nothing_else),
    ("a process that cannot fork runs a suspect among others", "pull.lua", "attends = held > 0 or slots == 0 or", "attends = slots == 0 or", suspects.test_a_process_that_cannot_fork_runs_a_suspect_alone),
    ("a process that cannot fork claims beside a suspect", "pull.lua", ", 'solo')[1] == '1' then return true end", ", 'solo')[1] == '2' then return true end", suspects.test_a_process_that_cannot_fork_runs_a_suspect_alone),
    ("quarantine workers have a share", "pull.lua", " - call('SCARD', T .. 'quarantine'))", ")", suspects.test_quarantine_workers_are_not_counted_in_a_share),
    ("a dead quarantine worker is counted for ever", "shared/recovery.lua", "  call('SREM', T .. 'quarantine', incarnation)\n", "", suspects.test_quarantine_workers_are_not_counted_in_a_share),
    ("suspects of a paused lane may start", "shared/suspects.lua", "    if room < 1 then return most end\n    offer_gates", "    offer_gates", suspects.test_suspects_of_a_paused_lane_starve_no_other_lane),
    ("suspects have no room", "shared/suspects.lua", "        room = room - 1\n", "", suspects.test_a_full_lane_counts_no_suspects_beyond_its_room),
    ("one lane's suspects go first", "shared/suspects.lua", "lanes[(NOW + i) % #lanes + 1]", "lanes[i]", suspects.test_each_lane_comes_first_in_its_turn),
    ("a suspect's key is no matter", "shared/suspects.lua", "    if not key and not is_bounded() then return true end\n", "    if true then return true end\n", suspects.test_one_that_its_key_keeps_back_waits_at_the_gate_and_nobody_of_the_key_overtakes_it),
    ("a suspect at its gate is overtaken", "pull.lua", "      suspects().offer(id, lane, gate)\n      return false", "      leave_gate(id, lane, gate)\n      return true", suspects.test_one_that_its_key_keeps_back_waits_at_the_gate_and_nobody_of_the_key_overtakes_it),
    ("suspects at gates are not seen", "shared/suspects.lua", "    offer_gates(lane)\n", "", suspects.test_a_suspect_at_an_open_gate_is_seen_without_a_pull),
    ("a gate whose suspect is gone is not looked at", "shared/suspects.lua", "NOW + RECHECK_MS, gate)", "'inf', gate)", suspects.test_a_suspect_that_is_canceled_at_its_gate_lets_those_behind_it_go_on),
    ("suspects of one key stay among the suspects", "shared/suspects.lua", "      if kept_back then remove(id, lane) end\n", "", suspects.test_suspects_of_one_key_starve_none_without),
    ("who is canceled stays a suspect", "shared/record.lua", "    call('ZREM', T .. 'suspects:' .. lane, id)\n", "", suspects.test_a_suspect_that_is_taken_away_is_not_counted, ("canceled",)),
    ("a suspect rings its lane", "shared/lane.lua", "    return add_suspect(id, lane, seq)\n", "    add_suspect(id, lane, seq)\n", suspects.test_a_suspect_rings_no_lane),
    ("older suspects are left", "shared/promoting.lua", "  if call('EXISTS', T .. 'solo') == 1 then move_solo(limit) end\n", "", suspects.test_what_an_older_version_has_left_is_moved_a_bounded_number_a_turn, ("promote",)),
    ("older suspects are moved all at once", "suspects.lua", "move_solo(MOVED_AT_ONCE)", "move_solo(10000)", suspects.test_what_an_older_version_has_left_is_moved_a_bounded_number_a_turn, ("suspects",)),
    ("what older workers may take hides what was not moved", "shared/suspects.lua", "reserves and string.format('(%.0f', MOVED) or '+inf'", "'+inf'", suspects.test_beside_an_older_worker_all_are_moved_in_the_end),
    ("new suspects are kept from older workers", "shared/lane.lua", "  if any_reserves() then call(", "  if false then call(", suspects.test_new_suspects_stand_in_both_while_an_older_worker_is_registered),
    ("what an older worker took is still a suspect", "shared/suspects.lua", "    if r[1] == 'submitted' and r[2] == '1' and tonumber(r[3]) == tonumber(seq) then return r end", "    if true then return r end", suspects.test_while_an_older_worker_is_registered_it_may_still_take_them),
    ("a suspect is claimed by its entry", "pull.lua", "if state ~= 'submitted' or solo == '1' or", "if state ~= 'submitted' or", suspects.test_a_worker_of_the_pool_claims_no_suspect_and_goes_on_beside_it),
    ("solo crashes do not count", "shared/recovery.lua", ">= SOLO_CRASHES then", ">= 1000 then", suspects.test_three_solo_crashes_are_a_dead_letter),
    ("every crash counts", "shared/recovery.lua", "if solo and call(", "if call(", suspects.test_three_solo_crashes_are_a_dead_letter),
    ("the first crash waits", "shared/recovery.lua", "elseif crashes == 1 then", "elseif false then", recover.test_the_first_crash_goes_back_at_once_the_later_ones_wait),
    ("no death is free", "shared/recovery.lua", "  if charged then", "  if true then", recover.test_an_uncharged_death_leaves_the_accounts_alone),
    ("a suspect for ever", "shared/message.lua", "'crashes', 0, 'solo', '', 'solo_crashes', 0,", "'crashes', 0,"  , suspects.test_a_suspect_that_succeeds_is_none_in_its_next_turn),
    # Rule 13: audit.
    ("one look is enough for audit", "audit.lua", "  elseif previous[key] then\n", "  elseif true then\n", audit.test_stolen_entries_are_put_back_in_order_at_the_second_look),
    ("audit forgets where the task was", "audit.lua", "local key = id .. ':' .. (r[1] or '') .. ':' .. (r[2] or '0')", "local key = id", audit.test_one_look_is_not_enough_when_the_task_has_moved),
    ("audit puts back in any order", "audit.lua", "for i = #seen_twice, 1, -1 do", "for i = 1, #seen_twice do", audit.test_stolen_entries_are_put_back_in_order_at_the_second_look),
    ("audit does not search the head", "audit.lua", "elseif not is_there(id, seq) then missing", "else missing", audit.test_what_many_deaths_put_back_is_not_stolen),
    ("audit puts back without bounds", "audit.lua", "if #seen_twice - i >= SEARCHES then", "if false then", audit.test_a_large_theft_is_put_back_in_steps),
    ("audit forgets what it has not come to", "audit.lua", ">= SEARCHES then suspect(key)", ">= SEARCHES then", audit.test_a_large_theft_is_put_back_in_steps),
    ("audit believes forged numbers", "audit.lua", "if id and read(id, 'seq')[1] == seq and", "if id and", audit.test_forged_numbers_are_not_believed),
    ("pull believes forged numbers", "pull.lua", "  if not state then count('stale') return end", "  if not state then heads[QUEUE] = tonumber(seq) return end", audit.test_forged_numbers_are_not_believed),
    ("audit sees foreign entries only", "audit.lua", "if not lowest and #window > 0 then return {0, ''} end", "", audit.test_foreign_entries_at_the_head_blind_it_for_a_while),
    ("audit puts suspects into the lane", "audit.lua", "elseif r[3] == '1' or (r[4]", "elseif (r[4]", audit.test_tasks_that_wait_alone_are_not_lost),
    # The order of a lane, its share, its bell; indexes, ends, and what is kept.
    ("the lowest does not come first", "shared/lane.lua", "if a.seq ~= b.seq then return a.seq > b.seq end", "if a.seq ~= b.seq then return a.seq < b.seq end", recover.test_tasks_of_the_dead_go_back_to_the_head_in_order),
    ("foreign tasks change places", "shared/lane.lua", "return a.place > b.place", "return a.place < b.place", recover.test_tasks_of_the_dead_go_back_to_the_head_in_order),
    ("put back at the tail", "shared/lane.lua", "enqueue(id, r[1], r[3], r[2], 'LPUSH')", "enqueue(id, r[1], r[3], r[2], 'RPUSH')", recover.test_tasks_of_the_dead_go_back_to_the_head_in_order),
    ("a claim leaves the index of the public queue", "shared/claiming.lua", "'submitted:' .. r[1]", "'submitted:' .. QUEUE"),
    ("one worker takes everything", "pull.lua", "math.min(slots, math.max(1, math.ceil(waiting / live)))", "slots", pull.test_eight_long_tasks_land_on_eight_workers),
    ("nobody rings on", "pull.lua", "    if waiting > 0 then ring(lane) end\n", "", pull.test_a_pull_rings_on_while_work_remains),
    ("bells pile up", "shared/lane.lua", "if call('LLEN', bell) < BELLS and", "if"),
    ("promoted and still due", "shared/promoting.lua", "  call('ZREM', T .. 'due', id)\n  to_tail(id)", "  to_tail(id)"),
    ("an ended task keeps its claim", "shared/ending.lua", "'owner', 'claim', 'due')", "'due')"),
    ("ended and not indexed", "shared/ending.lua", "  call('ZADD', T .. 'finished', NOW, id)\n", ""),
    ("ended and not counted", "shared/ending.lua", "  tally(state, 1)\n", ""),
    ("resumed and still counted", "shared/record.lua", "    tally(state, -1)\n", ""),
    ("a late result ends a pause", "shared/settling.lua", "not OPEN[state]", "TERMINAL[state]", control.test_a_late_result_does_not_end_a_pause),
    ("a result stays behind", "shared/forgetting.lua", "for turn = 1, tonumber(r[1]) or 0 do", "for turn = 2, tonumber(r[1]) or 0 do", upkeep.test_trimming_leaves_no_key_of_the_task),
    ("trimmed too early", "trim.lua", "NOW - tonumber(ARGV[1])", "NOW", upkeep.test_trimming_leaves_no_key_of_the_task),
    ("trimmed and not counted", "shared/forgetting.lua", "if #ids > 0 then count('trimmed', #ids) end", ""),
    ("a new message is not accepted twice", "submit.lua", "if call('EXISTS', T .. 'task:' .. id) == 1 then return deliver_message(id, operation, message, digest) end", "", submit.test_the_same_submit_twice_is_one_task),
    # Orders that come early, messages that make no task.
    ("an early cancel is forgotten", "shared/control.lua", "    cancel_early(id)\n", "", early_cancel.test_a_task_that_comes_after_its_cancel_never_runs, (None,)),
    ("a submit overlooks its cancel", "submit.lua", "  if canceled_early(id) then return 'new' end\n", "", early_cancel.test_a_task_that_comes_after_its_cancel_never_runs, (None,)),
    ("a pull overlooks a cancel", "pull.lua", "    if canceled_early(id) then return end\n", "", early_cancel.test_orders_on_the_queue_may_come_in_either_order),
    ("an admission overlooks a cancel", "admit.lua", "if not canceled_early(id) then to_head(id) end", "to_head(id)", inbox.test_a_large_cancel_of_nobody_is_kept_for_its_task),
    ("an early cancel counts twice", "shared/message.lua", "  call('ZREM', T .. 'cancels', id)\n", "", early_cancel.test_an_early_cancel_counts_once),
    ("an early cancel counts for ever", "shared/message.lua", "  if NOW - at > CANCELS_KEPT_MS then return false end\n", "", early_cancel.test_an_early_cancel_counts_for_its_time),
    ("early cancels without end", "shared/control.lua", "  call('ZREMRANGEBYRANK', cancels, 0, -CANCELS_KEPT - 1)\n", "", early_cancel.test_only_the_latest_early_cancels_are_kept),
    ("old early cancels stay", "shared/control.lua", "  call('ZREMRANGEBYSCORE', cancels, '-inf', NOW - CANCELS_KEPT_MS)\n", "", early_cancel.test_only_the_latest_early_cancels_are_kept),
    ("a resume drops its message", "pull.lua", "  elseif message ~= '' then take_resume(id, message, raw, lane)\n", "", foreign.test_a_pushed_resume_that_carries_a_message_answers_the_question, (resume_with("t1"),)),
    ("a resume makes a task", "pull.lua", "  elseif verb == 'run' then take_run", "  elseif message ~= '' then take_run", foreign.test_a_pushed_resume_makes_no_task, (resume_with("t1"),)),
    ("a large resume makes a task", "admit.lua", "verb == 'run' and admit_run()", "admit_run()", inbox.test_a_large_resume_answers_and_makes_no_task),
    # Lists.
    ("a page looks at everything", "list.lua", "looked >= LOOKS or ", "", listing.test_what_is_looked_at_for_a_page_is_bounded),
    ("a list begins anew when its place is gone", "list.lua", "return call('ZCOUNT', key, '-inf', '(' .. from_score)", "return 0", listing.test_a_list_goes_on_where_it_was_when_what_it_has_listed_is_gone),
    ("what has the score of the cursor comes again", "list.lua", "if not passed(index, score, id) then", "if true then", listing.test_what_ended_at_the_same_time_is_listed_once_though_some_is_gone),
    # Second chances.
    ("a retry made twice makes two", "retry.lua", "if r[2] then return {'again', r[2]} end\n", "", retry.test_a_retry_made_twice_makes_one),
    ("a retry twice makes two in a play", "retry.lua", "if r[2] then return {'again', r[2]} end\n", ""),
    ("what completed runs again", "retry.lua", "if not AGAIN[r[1]] then return {r[1], id} end\n", "", retry.test_what_has_not_ended_badly_is_left_alone, ("completed",)),
    ("what runs is run twice", "retry.lua", "if not AGAIN[r[1]] then return {r[1], id} end\n", ""),
    ("what was retried is still a dead letter", "retry.lua", "  call('ZREM', T .. 'dead', id)\n", "", retry.test_what_ended_badly_runs_again_as_another_task, (Settle.EXHAUSTED,)),
    ("a retry takes the id of another task", "retry.lua", "while call('EXISTS', T .. 'task:' .. root .. '.r' .. number) == 1 do", "while false do", retry.test_an_id_that_somebody_else_has_is_passed_over),
    ("an id grows for ever", "retry.lua", "if #new > LONGEST_ID then return {'long', id} end\n", "", retry.test_an_id_that_would_be_too_long_is_refused),
    ("runs of one task do not count up", "retry.lua", "once_more(r[3] or id, ", "once_more(id, ", retry.test_runs_of_one_task_count_up),
    ("a retry forgets what was said", "retry.lua", "    call('COPY', T .. 'history:' .. id, T .. 'history:' .. new)\n", "", retry.test_what_was_said_in_earlier_turns_belongs_to_the_retry),
    ("a retry forgets its limits", "retry.lua", "if value then write(new, field, value) end", "", retry.test_what_ended_badly_runs_again_as_another_task, (Settle.FAILED,)),
    ("a retry does not wait in its lane", "retry.lua", "  note('retry-of', new, id)\n  to_tail(new)\n", "  note('retry-of', new, id)\n"),
    ("what is due now stays delayed", "retry.lua", "  submit_due(id, reason)\n", "", retry.test_what_waits_for_its_time_is_due_now_and_its_attempts_stay),
    ("purging deletes whatever it is told", "purge_dead.lua", "if call('ZSCORE', T .. 'dead', id) then", "if true then", given_up.test_purging_deletes_dead_letters_and_nothing_else),
    ("purging deletes what runs", "purge_dead.lua", "if call('ZSCORE', T .. 'dead', id) then", "if true then"),
    ("a cut entry goes back", "readmit.lua", "if tonumber(size) ~= #raw then return 'cut' end\n", "", given_up.test_what_was_kept_only_in_part_cannot_go_back),
    ("an entry goes back twice", "readmit.lua", "1, ARGV[1]) == 0 then return 'gone' end", "1, ARGV[1]) < 0 then return 'gone' end", given_up.test_what_was_set_aside_goes_back_to_its_lane_as_it_came, ("",)),
    ("everything goes back to the public queue", "readmit.lua", "lane == '' and QUEUE or", "QUEUE or", given_up.test_what_was_set_aside_goes_back_to_its_lane_as_it_came, ("slow",)),
    ("nobody is rung for what goes back", "readmit.lua", "ring(lane)\n", "", given_up.test_what_was_set_aside_goes_back_to_its_lane_as_it_came, ("",)),
    ("purging does not stop at its moment", "purge_unreadable.lua", "> until_ms then break end", "> until_ms then gone = gone end", given_up.test_purging_what_was_set_aside_goes_from_the_oldest_and_stops_at_a_moment),
    ("the dead are not remembered with their tasks", "shared/recovery.lua", "'held', table.concat(named, ' '))", "'held', '')", story.test_the_dead_are_remembered_with_what_they_held),
    ("nobody is told until when a task waits", "shared/lane.lua", "  note('delayed', id, due)\n", "", story.test_a_trail_tells_until_when_a_task_waits),
    ("what was missed is not told", "events.lua", "return {missed and 1 or 0,", "return {0,", story.test_what_was_trimmed_before_it_was_read_is_told),
    ("an early position has missed something", "events.lua", " and is_cut()", "", story.test_what_was_trimmed_before_it_was_read_is_told),
    # Lanes in turns.
    ("weights are not looked at", "pull.lua", "WEIGHTS[#WEIGHTS + 1] = tonumber(weight)", "WEIGHTS[#WEIGHTS + 1] = 1", turns.test_weights_hold_for_all_workers_together, (3,)),
    ("of equal lanes the last goes first", "shared/turns.lua", "< (had[best] + 1) * weight)", "<= (had[best] + 1) * weight)", turns.test_of_two_full_lanes_the_heavier_goes_first),
    ("turns are not remembered", "shared/turns.lua", "  call('HSET', T .. 'turns', unpack(told))\n", "", turns.test_weights_hold_for_all_workers_together, (1,)),
    ("rounds never end", "shared/turns.lua", "had[i] < weight and", "", turns.test_a_lane_that_was_empty_saves_up_no_more_than_one_round),
    ("strict order is not kept", "pull.lua", "if busy > 1 and #WEIGHTS > 0 then", "if #WEIGHTS == 0 then WEIGHTS = {1, 1} end if busy > 1 then", turns.test_in_strict_order_the_first_lane_that_holds_something_is_served),
    ("a turn that finds nothing is lost", "pull.lua", "  for _ = 0, #LANES do\n", "  for _ = 1, 1 do\n", turns.test_a_turn_that_finds_only_hints_goes_to_the_other_lane),
    # Terms: what waits for others, expires, or is there once a key.
    ("a child does not wait", "shared/terms.lua", "  elseif count > 0 then\n", "  elseif false then\n"),
    ("a parent does not know its children", "shared/terms.lua", "      call('ZADD', tied.children_of(name), place, id)\n", ""),
    ("an unknown parent is waited for", "submit_on_terms.lua", "if unknown then return {'no-parent', unknown} end", "", after.test_an_unknown_parent_is_named_and_nothing_is_written),
    ("a parent that has failed before fails nobody", "shared/terms.lua", "elseif state ~= 'completed' and policy ~= 'run' then", "elseif false then", after.test_parents_that_have_ended_are_not_waited_for),
    ("parents that have ended are waited for", "shared/terms.lua", "    if not TERMINAL[state] then\n", "    if true then\n"),
    ("children are told in any order", "shared/terms.lua", "children_of(name), place, id)", "children_of(name), 0, id)", after.test_many_children_are_told_in_order_and_in_bounded_steps),
    ("children are not told of an end", "shared/ties.lua", "    if call('EXISTS', children_of(id)) == 1 then agenda.put(NOW, 'settle', id) end\n", ""),
    ("a parent without anything else tells nobody", "shared/ending.lua", ", T .. 'ties:' .. id, T .. 'children:' .. id) > 0", ", T .. 'ties:' .. id) > 0"),
    ("the first parent lets a child begin", "shared/waiting.lua", "elseif r[5] == '1' and r[1] == 'waiting' then", "elseif r[1] == 'waiting' then"),
    ("a paused child begins with its parents' end", "shared/waiting.lua", "elseif r[5] == '1' and r[1] == 'waiting' then", "elseif r[5] == '1' then", after.test_a_child_that_was_paused_waits_on),
    ("a failed parent fails nobody", "shared/waiting.lua", "if fate ~= 'completed' and r[3] ~= 'run' then", "if false then"),
    ("a failed parent fails everybody", "shared/waiting.lua", "if fate ~= 'completed' and r[3] ~= 'run' then", "if fate ~= 'completed' then", after.test_a_parent_that_fails_fails_its_children_and_theirs, (Settle.FAILED,)),
    ("children are told all at once", "shared/waiting.lua", "      if work > most then return work end\n", "", after.test_a_child_with_many_ties_counts_for_as_much),
    ("one step takes as much as it is asked to", "shared/promoting.lua", "math.min(limit, AGENDA_WORK)", "limit", after.test_a_child_with_many_ties_counts_for_as_much),
    ("one step works off all it sees", "shared/promoting.lua", "    if most <= 0 then return end\n", "", expires.test_the_steward_ends_what_has_expired_in_bounded_steps),
    ("a child that was told is told again", "shared/waiting.lua", "      call('ZREM', key, id)\n", ""),
    ("an end stays on the agenda", "shared/waiting.lua", "    if #ids == 0 or call('EXISTS', key) == 0 then ties.agenda.strike('settle', parent) end\n", ""),
    ("a parent is forgotten before its children know", "shared/forgetting.lua", "if call('EXISTS', T .. 'children:' .. id) == 0 then", "if true then", after.test_a_parent_stays_until_all_its_children_know),
    ("a delay begins again behind the parents", "shared/waiting.lua", "begin(id, tonumber(r[4]))", "begin(id, 0)", after.test_a_delay_counts_from_the_submission),
    ("a paused child waits no more", "shared/waiting.lua", "  if tonumber(read(id, 'waits_for')[1] or '0') > 0 then waiting().hold(id) else to_tail(id) end", "  to_tail(id)", after.test_a_child_that_was_paused_waits_on),
    ("a canceled child is still known", "shared/ties.lua", "if kind == 'parent' then call('ZREM', children_of(name), id)", "if kind == 'parent' then return"),
    ("who waits is not taken off the index", "shared/record.lua", "    call('ZREM', T .. 'waiting', id)\n", ""),
    ("the expired are claimed", "shared/claiming.lua", "    if expiry.expire(id) then return nil end\n", "", expires.test_a_pull_takes_nothing_that_has_expired),
    ("what was taken in time expires", "shared/expiry.lua", " and (delivery or '0') == '0' and", " and", expires.test_what_was_taken_in_time_lasts),
    ("what was taken stays on the agenda", "shared/claiming.lua", "    expiry.outlast(id)\n", ""),
    ("nobody looks at the agenda", "shared/promoting.lua", "if #items > 0 then work_off(items, most) end", "", expires.test_the_steward_ends_what_has_expired_in_bounded_steps),
    ("the steward sleeps past the agenda", "promote.lua", "first('due'), first('agenda'), ", "first('due'), ", expires.test_the_steward_ends_what_has_expired_in_bounded_steps),
    ("the steward is not told of an earlier time", "shared/agenda.lua", "    alarm(key, what .. '|' .. name)\n", "", expires.test_the_steward_ends_what_has_expired_in_bounded_steps),
    ("nothing is left when a parent has ended", "left.lua", "waits() or agenda <= NOW or", "waits() or", after.test_something_is_left_until_children_are_told),
    ("a later submission replaces nothing", "submit_on_terms.lua", "  if before then replace(before, id) end\n", "", once.test_the_last_of_a_burst_runs_and_the_others_are_told_so),
    ("whatever held the key is replaced", "shared/terms.lua", "if UNDECIDED[r[1]] and (r[2] or '0') == '0' then", "if true then", once.test_what_is_due_or_runs_is_not_replaced),
    ("a retry is replaced", "shared/terms.lua", "if UNDECIDED[r[1]] and (r[2] or '0') == '0' then", "if UNDECIDED[r[1]] then", once.test_a_retry_delay_is_no_debounce),
    ("who was replaced takes the key along", "shared/terms.lua", "  if before then tied.cut(before, 'debounce', key) end\n", "", once.test_what_is_due_or_runs_is_not_replaced),
    ("the end of another frees a key", "shared/ties.lua", "elseif holder_of(kind, name) == id then", "else", once.test_what_is_left_of_a_deleted_holder_frees_no_key_of_another),
    ("a key holds nobody out", "submit_on_terms.lua", "if first then return {'duplicate', first} end", "", once.test_while_one_has_not_ended_another_is_its_duplicate),
    ("a key is held by the ended", "shared/unique.lua", "return state and not TERMINAL[state] and id or nil", "return id", once.test_a_holder_that_somebody_deleted_holds_nothing),
    ("a key is held for ever", "shared/unique.lua", "    if till == '' then ties.tie(id, 'unique', key) else", "    if till ~= '' then", once.test_while_one_has_not_ended_another_is_its_duplicate),
    ("a window ends with its task", "shared/unique.lua", "if till ~= '' then return tonumber(till) > NOW and id or nil end", "", once.test_a_key_is_held_for_its_time_whatever_becomes_of_the_task),
    ("a window never ends", "shared/unique.lua", "return tonumber(till) > NOW and id or nil", "return id", once.test_a_key_is_held_for_its_time_whatever_becomes_of_the_task),
    ("an earlier window frees a later holder", "shared/unique.lua", "    if timed then call('HDEL', T .. 'unique', key) end\n", "    call('HDEL', T .. 'unique', key)\n", once.test_keys_of_both_kinds_follow_each_other),
    # Bounds: permits, gates, rates, pauses.
    ("a settled task keeps its permit", "shared/settling.lua", "  if r[7] then bounds().vacate(id) end\n", ""),
    ("a canceled task keeps its permit", "shared/control.lua", "    bounds().vacate(id)\n", ""),
    ("the dead keep their permits", "shared/recovery.lua", "  bounds().vacate(id)\n", ""),
    ("what was dropped keeps its permit", "renew.lua", "    bounds().vacate(task.id)\n", "", gates.test_a_task_that_its_worker_does_not_hold_gives_its_permit_back),
    ("a claim takes no permit", "shared/claiming.lua", "  if is_bounded() or r[10] then bounds().occupy(id, r[1], r[10], r[11]) end\n", ""),
    ("a limit is not looked at", "shared/gates.lua", "local limit = b.rule('limit', lane)", "local limit = false"),
    ("a limit does not count what runs", "shared/bounding.lua", "if bounds().rule('limit', subject) then count_running(subject) end", "", bounds.test_a_limit_counts_what_runs_already),
    ("other lanes' lists are a way round", "pull.lua", "  if own_lane ~= lane and room_of(own_lane) < 1 then return end\n", "", bounds.test_an_entry_in_another_lane_is_no_way_round_a_limit, (True,)),
    ("what other lanes took is forgotten", "pull.lua", "    want = math.min(want, (room_of(lane)))", "    want = want", bounds.test_an_entry_in_another_lane_is_no_way_round_a_limit, (False,)),
    ("an entry is a way past its gate", "pull.lua", " or (held or '') ~= '' then return end", " then return end", gates.test_an_entry_is_no_way_past_a_gate_whose_rule_somebody_deleted),
    ("keys are not looked at", "shared/gates.lua", "if key and call('SCARD'", "if false and call('SCARD'"),
    ("a key's next task is not woken", "shared/gates.lua", "      b.open_key_gates(r[3])\n", "", gates.test_tasks_of_one_key_run_one_at_a_time_in_their_order),
    ("a death puts a key's tasks out of order", "shared/lane.lua", "if not gate or not call('ZSCORE', T .. 'gates:' .. r[1], gate) then", "if true then", gates.test_a_death_gives_the_permit_of_a_key_back_and_order_stays, (True,)),
    ("a canceled task stays at its gate", "shared/record.lua", "    if gate and gate ~= '' then leave_gate(id, lane, gate) end\n", ""),
    ("audit takes the held for lost", "audit.lua", " or (r[4] and call('ZSCORE', T .. 'held:' .. lane .. ':' .. r[4], id)) then", " then", gates.test_audit_leaves_those_at_a_gate_and_gives_lost_permits_back),
    ("leaked permits stay", "audit.lua", "lost = lost + call('SREM', permits, id)", "lost = 0", bounds.test_a_leaked_permit_is_given_back_by_audit),
    ("a rate is not used up", "shared/gates.lua", "    b.spend('rate', lane)\n", "", bounds.test_a_rate_is_kept_by_all_workers_together),
    ("pauses save up", "shared/rules.lua", "math.max(used, NOW)", "used", bounds.test_a_burst_is_what_a_pause_saves_up_and_no_more),
    ("a clock that was set back stops a rate", "shared/rules.lua", "    if used > farthest + 1 then remember(name, subject, farthest) end\n", "", bounds.test_a_clock_that_was_set_back_stops_a_rate_for_no_longer_than_its_burst),
    ("a handler's rate is not looked at", "shared/gates.lua", "if name and b.allowed('name', name) < 1 then", "if false then", gates.test_the_rate_of_a_handler_keeps_back_its_tasks_alone),
    ("no alarm is set", "shared/alarms.lua", "if at or gate then set_alarm(at or gate) else", "if false then else", bounds.test_the_steward_rings_when_the_lanes_rate_allows_more),
    ("nobody hears the alarm", "promote.lua", "sound_alarms()\n", "", bounds.test_the_steward_rings_when_the_lanes_rate_allows_more),
    ("a paused lane goes on", "shared/gates.lua", "    if b.is_paused(lane) then return 0, 'paused' end\n", "", bounds.test_a_paused_lane_accepts_and_starts_nothing),
    ("a paused lane rings", "shared/lane.lua", " and call('HEXISTS', T .. 'closed', lane) == 0 then", " then", bounds.test_a_paused_lane_accepts_and_starts_nothing),
    ("a resumed lane is not rung for", "shared/bounding.lua", "    bounds().reopen(lane)\n    return true", "    return true", bounds.test_a_resumed_lane_rings_and_goes_on),
    ("a host takes back another's word", "bound.lua", "if said_by == host and", "if said_by and", bounds.test_of_two_hosts_the_last_word_counts_and_each_takes_back_only_its_own),
    ("settings count before operators", "shared/rules.lua", "r[1] or (r[2] and string.match(r[2], '^[^@]*'))", "(r[2] and string.match(r[2], '^[^@]*')) or r[1]", bounds.test_an_operators_word_counts_in_a_pull),
    # Strays.
    ("a look puts back", "strays.lua", "local cursor, page, silence, put_back = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4] == '1'", "local cursor, page, silence, put_back = ARGV[1], ARGV[2], tonumber(ARGV[3]), true", strays.test_a_look_changes_nothing),
    ("the living lose their tasks", "strays.lua", "if not beat or NOW - tonumber(beat) >= silence then return 'silent' end", "return 'silent'", strays.test_what_a_living_worker_runs_is_left_alone),
    ("silence is never long", "strays.lua", "NOW - tonumber(beat) >= silence", "false", strays.test_tasks_of_a_silent_owner_go_back_uncharged_and_it_is_told),
    ("the owner of a stray is not declared dead", "strays.lua", "if reason ~= 'not held' then recover(owner, 'owner ' .. reason, false) end", "", strays.test_tasks_of_a_silent_owner_go_back_uncharged_and_it_is_told),
    ("a living owner is declared dead", "strays.lua", "if reason ~= 'not held' then", "if true then", strays.test_a_task_that_its_owner_does_not_hold_goes_back_alone),
    ("a fire is made for each that saw it", "schedule_fire.lua", "if kind == 'due' and r[2] ~= seen then return 'changed' end", "", on_stage(scenarios.test_22_two_stewards_make_one_task)),
    ("a fire of an earlier generation is made", "schedule_fire.lua", "if tonumber(r[1]) ~= generation then return 'changed' end", "", on_stage(scenarios.test_a_fire_that_was_decided_before_a_change_is_not_made)),
    ("a paused schedule fires", "schedule_fire.lua", "if kind ~= 'extra' and r[3] ~= '' then return 'paused' end", "", on_stage(scenarios.test_15_a_pause_lets_a_fire_that_was_seen_do_nothing)),
    ("a fire is half made", "schedule_fire.lua", "if fires[1] and not is_list(fires[1][6]) then", "if false then", on_stage(scenarios.test_a_schedule_whose_lane_is_no_list_submits_nothing_and_stops_no_other)),
    ("a paused schedule is due", "shared/scheduling.lua", "if r[2] ~= '' then at = r[3] elseif", "if", on_stage(scenarios.test_12_an_upsert_leaves_a_pause)),
    ("forbid allows", "schedule_fire.lua", "if before and overlap == 'forbid' then", "if false then", on_stage(scenarios.test_21_forbid_skips_and_says_so)),
    ("a CONTINUE that finds an earlier run is lost", "schedule_fire.lua", "continues and r[5] == 'forbid' and 'queue-one' or r[5]", "r[5]", on_stage(scenarios.test_a_continue_set_while_an_earlier_run_goes_on_begins_after_it), ("forbid",)),
    ("replace does not cancel", "schedule_fire.lua", "if before and overlap == 'replace' then cancel(", "if false then cancel(", on_stage(scenarios.test_20_now_while_it_runs), ("replace", 1, ["fired", "ended", "fired"])),
    ("what waited is made again", "schedule_fire.lua", "if kind == 'waited' and r[4] ~= seen then return 'changed' end", "", on_stage(scenarios.test_a_fire_that_waited_is_made_once)),
    ("what was decided long ago is made", "schedule_fire.lua", "or NOW > till", "", on_stage(scenarios.test_what_was_decided_for_another_moment_is_decided_anew)),
    ("a fire is made early", "schedule_fire.lua", "NOW < from or ", "", on_stage(scenarios.test_what_was_decided_for_another_moment_is_decided_anew)),
    ("what waited is put off", "schedule_fire.lua", "if kind == 'due' and expected ~= '' and r[8] ~= '1' then", "if kind == 'due' and expected ~= '' then", on_stage(scenarios.test_a_fire_that_waits_is_made_also_when_the_next_is_due)),
    ("a former owner keeps it", "shared/scheduling.lua", "if before and before ~= '' then call('ZREM'", "if false then call('ZREM'", on_stage(scenarios.test_an_owner_finds_its_own)),
    ("stop leaves what is queued", "schedule_put.lua", "if state == 'submitted' or state == 'delayed' then", "if false then", on_stage(scenarios.test_06_stop_takes_back_what_still_waits)),
    ("a change begins without its pause", "schedule_put.lua", "'ended', expected == '' and 'stopped' or '',", "'paused', '', 'ended', expected == '' and 'stopped' or '',", on_stage(scenarios.test_12_an_upsert_leaves_a_pause)),
    ("the same upsert is a change", "schedule_put.lua", "if r[2] == ARGV[6] and", "if false and", on_stage(scenarios.test_11_the_same_upsert_from_many_changes_nothing)),
    ("a handler cannot stop its schedule", "shared/scheduling.lua", "if same and reason == 'stop-schedule'", "if false", on_stage(scenarios.test_05_a_handler_ends_its_schedule_and_setting_it_again_runs), ("stop-schedule",)),
    ("continue knows no bounds", "shared/scheduling.lua", "if not may_go_on(id, at) then", "if false then", on_stage(scenarios.test_continue_keeps_its_bounds)),
    ("a run of before goes on", "shared/scheduling.lua", "elseif same and string.sub(r[2], 1, 8)", "elseif string.sub(r[2], 1, 8)", on_stage(scenarios.test_a_run_of_before_a_change_has_no_say)),
    ("the history of one is the record of another", "shared/scheduling.lua", "return T .. 'fires:' .. id end", "return schedule_of(id) .. ':history' end", on_stage(keys.test_history_of_one_is_not_the_record_of_another)),
    ("any task of that name keeps a fire back", "schedule_fire.lua", "read(earlier, 'schedule')[1] == id and", "read(earlier, 'state')[1] and", on_stage(keys.test_task_that_is_no_fire_of_it_keeps_no_fire_back)),
    ("a record that is none stops all fires", "shared/scheduling.lua", "local r = redis.pcall('HGETALL',", "local r = call('HGETALL',", on_stage(spoilt.test_schedule_that_cannot_be_read_stops_no_other), (spoilt.other,)),
    ("a record that is none keeps a worker from settling", "shared/scheduling.lua", "local r = redis.pcall('HMGET',", "local r = call('HMGET',", on_stage(spoilt.test_end_of_a_task_is_settled_though_its_schedule_cannot_be_read)),
    ("a history that is none stops all fires", "shared/scheduling.lua", "local length = redis.pcall('RPUSH',", "local length = call('RPUSH',", on_stage(spoilt.test_history_that_is_no_list_is_begun_anew)),
    ("what was set again is set aside", "schedule_aside.lua", "~= ARGV[2] then return 'changed' end", "== '-' then return 'changed' end", on_stage(spoilt.test_one_that_is_set_again_meanwhile_is_not_set_aside)),
    ("what was set aside cannot be removed", "schedule_remove.lua", " or call('ZSCORE', T .. 'schedules', ARGV[1])", "", on_stage(spoilt.test_schedule_that_cannot_be_read_stops_no_other), (spoilt.gone,)),
    ("a record that is none is no schedule", "schedule_show.lua", "then return 'gone' end", "then return fields end", on_stage(spoilt.test_schedule_that_cannot_be_read_stops_no_other), (spoilt.gone,)),
    ("a notice that is none stops all webhooks", "webhooks_take.lua", "local counted = redis.pcall(", "local counted = call(", outbox.test_record_that_is_none_is_taken_beside_the_others),
    ("a quiet host claims", "pull.lua", "local live = known[1] == 'live' and word == 'OK'", "local live = known[1] == 'live'", quiet.test_a_quiet_host_finishes_and_claims_nothing),
    ("who starts on a quiet host is not quiet", "register.lua", "if is_quiet(host) then", "if false then", quiet.test_whoever_starts_anew_on_a_quiet_host_is_quiet),
    ("all hosts are no host", "shared/hosts.lua", "(r[1] or r[2]) and true", "r[2] and true", quiet.test_whoever_starts_anew_on_a_quiet_host_is_quiet),
    ("one host is no host", "shared/hosts.lua", "(r[1] or r[2]) and true", "r[1] and true", quiet.test_a_quiet_host_finishes_and_claims_nothing),
    ("nobody is told to look", "shared/hushing.lua", "      hint(incarnation, 'look')\n", "", quiet.test_each_worker_is_told_once_to_look_again),
    ("all are told to look", "shared/hushing.lua", "if r[1] and quiet ~= (r[2] == '1') then", "if r[1] then", quiet.test_each_worker_is_told_once_to_look_again),
    ("a renewal keeps quiet", "renew.lua", "known[5] and 1 or 0", "0", quiet.test_a_renewal_tells_it_too),
    ("a burst waits for ever", "left.lua", "  if call('HEXISTS', T .. 'quiet', '*') == 1 then return false end\n", "", quiet.test_while_all_are_quiet_nothing_is_left_to_do),
    # Handlers that not every worker has.
    ("a worker runs what it has no handler for", "pull.lua", "  if has_name(names, name) then return false end\n", "  if true then return false end\n", unknown.test_it_waits_uncharged_and_keeps_nobody_back),
    ("a task of a handler's name holds up its key", "pull.lua", "    if waits and not has_name(names, r[3] or '') then", "    if false then", unknown.test_one_at_the_gate_of_its_key_goes_aside_from_there),
    ("a suspect is run without its handler", "pull.lua", "  if not has_name(names, r[5] or '') then\n    suspects()", "  if false then\n    suspects()", unknown.test_a_suspect_waits_at_the_gate_of_its_handler_and_goes_from_there_to_the_suspects),
    ("a suspect goes from its handler's gate into the pool", "pull.lua", "      if waits and r[8] == '1' then add_suspect(id, lane, r[13])\n      elseif waits", "      if waits", unknown.test_a_suspect_waits_at_the_gate_of_its_handler_and_goes_from_there_to_the_suspects),
    ("a quarantine worker serves a handler", "shared/serving.lua", " and r[4] ~= 'quarantine' then", " then", unknown.test_a_quarantine_worker_serves_no_gate),
    ("handlers are looked for without order", "shared/record.lua", "  if lowest then return call('ZADD', T .. 'unknown:' .. lane, 'XX', lowest, name) end\n", "  if lowest then return end\n", unknown.test_gates_are_taken_from_in_the_order_of_numbers),
    ("a worker looks at the gates of others", "shared/unknown.lua", "return call('ZINTER', 2, known_by(lane), T .. 'names:' .. names, 'WEIGHTS', 1, 0)", "return call('ZRANGE', known_by(lane), 0, -1)", unknown.test_gates_are_taken_from_in_the_order_of_numbers),
    ("nobody is told of a task that waits for its handler", "pull.lua", "      if of_unknown().first_at(lane, name) then", "      if false then", unknown.test_those_who_have_its_handler_are_told),
    ("those are told who have not its handler", "shared/serving.lua", "(not name or has_name(worker.names, name))", "true", unknown.test_those_who_have_its_handler_are_told),
    ("the rest at a gate is told to nobody", "pull.lua", "      leave_gate(id, lane, 'unknown:' .. name, not waits)\n      meet(lane, name)\n", "      leave_gate(id, lane, 'unknown:' .. name, not waits)\n", unknown.test_who_takes_some_tells_the_others_of_the_rest),
    ("gates are closed to earlier versions", "shared/unknown.lua", "      if not worker.names then open_to_earlier(lane, name) end\n", "", unknown.test_a_gate_is_open_to_workers_of_an_earlier_version),
    ("those of a handler stay in a lane that is cleared", "clear.lua", "gates[#gates + 1] = 'unknown:' .. name", "gates[1] = nil", unknown.test_clearing_a_lane_takes_those_at_its_gates),
    ("the time of a gate is that of its tasks", "unserved.lua", "math.max(since, tonumber(r[2] or '0'))", "since", unknown.test_each_task_has_its_own_time),
    ("the time goes on in a paused lane", "unserved.lua", "elseif not is_paused(lane) then", "else", unknown.test_the_time_stands_while_its_lane_is_paused),
    ("the time goes on beside those who serve", "unserved.lua", "    since = clock\n", "    clock = clock + NOW - looked_at\n", unknown.test_the_time_begins_anew_when_the_last_who_served_it_has_gone),
    ("any lane is served", "shared/serving.lua", "return not worker.lanes or worker.lanes[lane] ~= nil", "return true", unknown.test_a_worker_of_another_lane_or_one_that_drains_does_not_serve_it),
    ("a draining worker serves", "shared/serving.lua", "r[1] == 'live' and", "r[1] and", unknown.test_a_worker_of_another_lane_or_one_that_drains_does_not_serve_it),
    ("a jump of the clock is a time of waiting", "unserved.lua", "math.min(math.max(0, NOW - looked_at), LONGEST_STEP)", "NOW - looked_at", unknown.test_an_hour_between_two_looks_is_no_hour_of_waiting),
    ("names of handlers stay for ever", "unserved.lua", "if not used[digest] then", "if false then", unknown.test_names_that_no_worker_has_any_more_are_forgotten),
    ("names in use are forgotten", "unserved.lua", "if not used[digest] then", "if true then", unknown.test_names_that_no_worker_has_any_more_are_forgotten),
    ("a burst waits for a handler", "left.lua", "> (unserved[lane] or 0)", "> 0", unknown.test_a_burst_does_not_wait_for_it),
    # Lanes whose front is the tail of their list.
    ("a turned lane is read from the head", "shared/front.lua", "call('LRANGE', list_of(lane), -number, -1), {}", "call('LRANGE', list_of(lane), 0, number - 1), {}", turned.test_what_is_pushed_at_the_head_is_taken_in_its_order),
    ("a turned lane is filled at the tail", "shared/lane.lua", "command == 'LPUSH' and 'RPUSH' or 'LPUSH'", "'RPUSH'", turned.test_our_own_producers_join_the_same_order),
    ("back to the wrong end of a turned lane", "shared/lane.lua", "command == 'LPUSH' and 'RPUSH' or 'LPUSH'", "'LPUSH'", turned.test_what_a_dead_worker_held_goes_back_to_the_front),
    ("a turned lane is emptied from its head", "shared/lane.lua", "command == 'LPOP' and 'RPOP' or", "command == 'LPOP' and 'LPOP' or", turned.test_our_own_producers_join_the_same_order),
    ("an inbox goes back to the head of a turned lane", "shared/recovery.lua", "on_lane('LPUSH', lane, raw)", "call('LPUSH', list_of(lane), raw)", turned.test_an_unread_inbox_goes_back_to_the_front),
    ("a turned lane is searched from the wrong end", "shared/front.lua", "return at and call('LLEN', list_of(lane)) - 1 - at", "return at", turned.test_its_front_is_what_is_shown_and_cleared_first),
    ("a turned lane stays turned", "shared/bounding.lua", "and 'SADD' or 'SREM'", "and 'SADD' or 'SCARD'", turned.test_where_it_is_said_no_more_the_head_is_the_front),
    ("what has not ended is forgotten", "forget_tasks.lua", "if TERMINAL[read(id, 'state')[1]] then", "if read(id, 'state')[1] then", forgetting.test_only_what_has_ended_is_forgotten),
    ("a queue is deleted under its workers", "obliterate.lua", "if workers > 0 and not force then", "if false then", forgetting.test_a_namespace_with_workers_is_obliterated_only_by_force),
    ("lists of any name stay", "obliterate.lua", "if empty_lanes() then return {cursor, 0} end", "", forgetting.test_nothing_is_left_of_an_obliterated_namespace),
]
# fmt: on
