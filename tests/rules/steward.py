"""Rules and duties of the steward."""

from __future__ import annotations

from tests.rules.rule import Rule

_RECOVERY = "tests/steward/test_recovery.py"
_ORPHANS = "tests/steward/test_orphans.py"
_LEASES = "tests/steward/test_leases.py"
_BELLS = "tests/steward/test_bells.py"
_LANES = "tests/steward/test_lanes.py"
_PROCESS = "tests/steward/test_process.py"
_WEBHOOKS = "tests/faults/test_webhooks.py"

STEWARD = [
    Rule(
        "a reported death names what had begun",
        "begun=self.locks.begun(death.incarnation),",
        "",
        "tests/faults/test_begun.py::test_a_crash_is_charged_to_what_had_begun_alone",
    ),
    Rule(
        "a silent worker is told what not to begin before its page is read",
        "if not self.locks.revoke(incarnation, last):\n    return",
        "",
        "tests/steward/test_silent_workers.py::test_it_begins_no_more_of_what_goes_back",
    ),
    Rule(
        "what a silent worker begins meanwhile is seen",
        "await anyio.sleep(SEEN_WITHIN)",
        "",
        "tests/steward/test_silent_workers.py::test_what_it_begins_until_the_page_is_read_stays",
    ),
    Rule(
        "the next start names what had begun",
        "begun = self.locks.begun(incarnation)\ncount = await",
        "begun = None\ncount = await",
        "tests/faults/test_begun.py::test_the_next_start_counts_a_recovery_for_what_had_begun_alone",
    ),
    Rule(
        "the page of a dead worker goes with it",
        "self._page(incarnation).unlink(missing_ok=True)",
        "",
        "tests/faults/test_begun.py::test_a_crash_is_charged_to_what_had_begun_alone",
    ),
    Rule(
        "a recorded death is acknowledged",
        "self.acknowledge(Acknowledged(death.incarnation, count))",
        "",
        f"{_RECOVERY}::test_deaths_are_recovered_in_the_order_told_and_acknowledged_with_their_counts",
    ),
    Rule(
        "a death that cannot be recorded lets the others pass",
        "self.roster.defer(death.incarnation)",
        "pass",
        f"{_RECOVERY}::test_a_death_that_cannot_be_recorded_does_not_hold_up_the_others",
    ),
    Rule(
        "deaths keep their order while the store is away",
        ("except StoreUnavailableError:\n    raise\nexcept Exception:\n    self.roster.defer("),
        "except Exception:\n    self.roster.defer(",
        f"{_RECOVERY}::test_while_the_store_is_away_deaths_wait_in_order",
    ),
    Rule(
        "a death wakes recovery",
        "self._dead.setdefault(death.incarnation, death)\nself._announce()",
        "self._dead.setdefault(death.incarnation, death)",
        f"{_RECOVERY}::test_a_death_wakes_recovery_at_once",
    ),
    Rule(
        "a dead worker is vouched for no more",
        "self._living.pop(death.incarnation, None)",
        "",
        f"{_LEASES}::test_the_living_are_vouched_for_and_the_dead_no_more",
    ),
    Rule(
        "a steward leaves when no death waits any more",
        'no death is left to be recorded."""\nwhile self._dead:',
        'no death is left to be recorded."""\nwhile False:',
        f"{_PROCESS}::test_asked_to_leave_it_acknowledges_what_it_was_told_first",
    ),
    Rule(
        "a new steward vouches as soon as it knows its workers",
        "if roster.living else roster.wait_for_change(seconds)",
        "if True else roster.wait_for_change(seconds)",
        f"{_LEASES}::test_a_new_steward_vouches_as_soon_as_it_hears_of_its_family",
    ),
    Rule(
        "a worker of this parent is no orphan",
        "return not self.roster.knows(incarnation) and self.locks.is_dead(incarnation)",
        "return self.locks.is_dead(incarnation)",
        f"{_ORPHANS}::test_a_worker_whose_birth_is_told_between_two_sightings_is_none",
    ),
    Rule(
        "an orphan that lives is left alone",
        "and self.locks.is_dead(incarnation)",
        "",
        f"{_ORPHANS}::test_an_orphan_that_still_lives_is_not_killed",
    ),
    Rule(
        "a stranger is judged at its second sighting",
        "sorted(present.intersection(self.foreign))",
        "sorted(present)",
        f"{_ORPHANS}::test_a_stranger_is_judged_at_its_second_sighting_only",
    ),
    Rule(
        "nothing is recovered while a child of an orphan lives",
        "if not await self._is_over(incarnation, left):",
        "if False:",
        f"{_ORPHANS}::test_nothing_is_recovered_while_a_child_that_bears_no_name_holds_the_lock",
    ),
    Rule(
        "nothing is recovered while what an orphan had started runs",
        "and not any(map(processes.runs, left)):",
        ":",
        f"{_ORPHANS}::test_what_was_killed_is_waited_for",
    ),
    Rule(
        "a death that a parent does not report is found",
        "dead += unreported",
        "",
        f"{_ORPHANS}::test_a_death_that_its_parent_does_not_report_is_recovered_when_it_was_seen_several_times",
    ),
    Rule(
        "a parent has time to report a death",
        "if self._seen_dead[name] >= SEEN_DEAD}",
        "}",
        f"{_ORPHANS}::test_a_death_that_its_parent_does_not_report_is_recovered_when_it_was_seen_several_times",
    ),
    Rule(
        "nobody vouches for a worker that was recovered",
        "self.roster.worker_lost(incarnation)",
        "",
        f"{_ORPHANS}::test_a_death_that_its_parent_does_not_report_is_recovered_when_it_was_seen_several_times",
    ),
    Rule(
        "a worker whose process runs is not dead",
        "is_dead = pid is not None and not processes.runs(pid) and (is_free(path) or outlived(path))",
        "is_dead = pid is not None",
        f"{_ORPHANS}::test_a_worker_of_this_parent_that_lives_is_left_alone",
    ),
    Rule(
        "the process group of a dead worker is killed before its task runs again",
        "in_group = bool(leaders) and processes.group(pid) in leaders and processes.runs(pid)",
        "in_group = False",
        "tests/faults/test_orphans.py"
        "::test_a_worker_that_dies_while_its_parent_stands_still_is_recovered_without_what_it_started",
    ),
    Rule(
        "what an orphan has forked is killed",
        "return processes.kill_all(lambda: _left_by(incarnations, leaders))",
        "return set()",
        f"{_ORPHANS}::test_a_child_that_holds_the_lock_of_a_dead_worker_is_killed_first",
    ),
    Rule(
        "a file is a lock file by its whole name",
        "if _INCARNATION.fullmatch(name)",
        "if name",
        f"{_ORPHANS}::test_files_that_are_named_after_no_incarnation_are_left_alone",
    ),
    Rule(
        "a schedule with an impossible number is set aside",
        "not least <= number <= _HIGHEST",
        "False",
        "tests/schedules/test_spoilt.py::test_a_damaged_field_of_a_schedule_is_its_own_trouble",
    ),
    Rule(
        "a schedule that does not say whether it is paused is set aside",
        'fields["paused"]',
        'fields.get("paused", "")',
        "tests/schedules/test_spoilt.py::test_a_damaged_field_of_a_schedule_is_its_own_trouble",
    ),
    Rule(
        "nobody is reaped while leases are in doubt",
        "if await self.watch.leases_hold():",
        "if await self.watch.leases_hold() or True:",
        f"{_LEASES}::test_after_a_disturbance_nobody_is_reaped_for_a_lease",
    ),
    Rule(
        "nothing is trimmed by a clock that was set forward",
        "if not await watch.ages_hold():",
        "if not await watch.ages_hold() and False:",
        f"{_LEASES}::test_nothing_is_trimmed_by_a_clock_that_was_set_forward",
    ),
    Rule(
        "a steward that starts compares the store's clock with its host's",
        "ahead(look, self.wall()) if before is None else",
        "0.0 if before is None else",
        f"{_LEASES}::test_a_steward_that_starts_while_the_clock_is_ahead_trims_nothing",
    ),
    Rule(
        "another server makes leases doubtful",
        "if now.run_id != before.run_id:",
        "if False:",
        "tests/steward/test_trust.py::test_every_disturbance_makes_leases_doubtful",
    ),
    Rule(
        "a late answer makes leases doubtful",
        "if now.took > tolerance:",
        "if False:",
        "tests/steward/test_trust.py::test_every_disturbance_makes_leases_doubtful",
    ),
    Rule(
        "a store that was away makes leases doubtful",
        "health.outages += 1",
        "pass",
        "tests/steward/test_duty.py::test_only_a_store_that_was_away_makes_leases_doubtful",
    ),
    Rule(
        "connections that are all in use are no outage",
        "case LedgerUnavailableError() | ConnectionLimitError() | StoreRefusedError():",
        "case LedgerUnavailableError() | StoreRefusedError():",
        "tests/steward/test_many_lanes.py::test_connections_that_are_all_in_use_are_no_outage",
    ),
    Rule(
        "an empty lane is peeked at",
        "await self._peek()",
        "pass",
        f"{_LANES}::test_an_empty_lane_is_peeked_at_and_rung_as_soon_as_it_holds_something",
    ),
    Rule(
        "the steward does not ring for what was rung for",
        "return is_own(self._head) and",
        "return False and",
        f"{_BELLS}::test_the_steward_does_not_ring_for_tasks_for_which_their_producer_has_rung",
    ),
    Rule(
        "the steward rings at once for an entry of another producer",
        "return is_own(self._head) and",
        "return bool(self._head) and",
        f"{_BELLS}::test_the_steward_rings_for_each_entry_of_another_producer",
    ),
    Rule(
        "a lane whose bells are heard is looked at soon again",
        "min(2 * pause, LAST_PAUSE) if unrung else FIRST_PAUSE",
        "min(2 * pause, LAST_PAUSE)",
        f"{_LANES}::test_a_lane_whose_bells_are_heard_is_looked_at_soon_again",
    ),
    Rule(
        "a lane whose bells nobody hears is looked at more rarely",
        "min(2 * pause, LAST_PAUSE) if unrung else FIRST_PAUSE",
        "FIRST_PAUSE",
        f"{_LANES}::test_a_lane_whose_bells_nobody_hears_is_looked_at_ever_more_rarely",
    ),
    Rule(
        "the steward trusts a bell for a moment only",
        "and self._pause <= TRUSTING_PAUSE",
        "",
        f"{_BELLS}::test_the_steward_rings_for_a_task_whose_bell_was_lost",
    ),
    Rule(
        "lanes beyond the most that are peeked at are looked at",
        "yield rings(store, lanes[MOST_PEEKS:])",
        "yield from ()",
        "tests/steward/test_many_lanes.py::test_each_of_many_lanes_is_rung_for_and_the_steward_is_well",
    ),
    Rule(
        "the steward tends its lanes",
        "yield lane_tending(store, settings.lane_names)",
        "",
        "tests/faults/test_foreign.py::test_pushed_orders_are_heard_while_every_slot_is_full",
    ),
    Rule(
        "lanes are tended until all are done",
        "if rest := rest[tended.lanes :]:",
        "if not (rest := ()):",
        f"{_LANES}::test_lanes_are_tended_in_as_many_calls_as_it_takes",
    ),
    Rule(
        "an audit goes on at its cursor",
        "self._store.audit(self._lane, AUDIT_WINDOW, self._cursor)",
        'self._store.audit(self._lane, AUDIT_WINDOW, "")',
        f"{_LANES}::test_audit_goes_on_at_its_cursor_and_then_begins_anew",
    ),
    Rule(
        "a crowd of due tasks is promoted without a rest",
        "if promoted < PROMOTED_AT_ONCE and due_in != 0:",
        "if True:",
        f"{_LANES}::test_a_crowd_of_due_tasks_is_promoted_without_a_rest",
    ),
    Rule(
        "a store that was emptied hears the bounds again",
        "if not self._is_declared or (self._rules and self._is_silent(await self._store.lanes([]))):",
        "if not self._is_declared:",
        "tests/steward/test_bounds.py::test_a_store_that_was_emptied_gets_them_again",
    ),
    Rule(
        "without its parent a steward ends",
        "self._end(ChildExit.ORPHANED)",
        "",
        f"{_PROCESS}::test_without_a_parent_it_ends_at_once",
    ),
    Rule(
        "only the first steward must find the store fit",
        "await store_duties.preflight(self.store, self.spec.settings) if self.spec.first else None",
        "await store_duties.preflight(self.store, self.spec.settings)",
        f"{_PROCESS}::test_on_later_boots_an_unreachable_store_is_waited_for",
    ),
    Rule(
        "a steward leaves by its deadline",
        "with anyio.move_on_after(deadline - time.monotonic()):",
        "with anyio.move_on_after(None):",
        f"{_PROCESS}::test_it_leaves_by_the_deadline_though_the_store_is_away",
    ),
    Rule(
        "a time file follows no link",
        "beside.unlink(missing_ok=True)\n"
        "descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)",
        "descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)",
        "tests/trust/test_locks.py::test_the_time_file_overwrites_no_file_that_a_link_beside_it_leads_to",
    ),
    Rule(
        "connections to the metrics are bounded, and no host takes the answer of another",
        "OpenConnections(MOST_CONNECTIONS)",
        "OpenConnections()",
        "tests/steward/test_metrics_server.py::test_a_host_with_many_connections_costs_no_other_its_answer",
    ),
    Rule(
        "a site that rebinds its name to this host reads no metrics",
        "if self._hosts is not None and request.host and not self._hosts.allows(request.host):",
        "if False:",
        "tests/steward/test_metrics_server.py::test_a_site_that_rebinds_its_name_to_loopback_reads_nothing",
    ),
    Rule(
        "a webhook reaches no private address",
        "if private and not self.allow_private:",
        "if False:",
        f"{_WEBHOOKS}::test_private_address_is_refused_unless_allowed",
    ),
    Rule(
        "special addresses are those of our own list, not those of the version of Python",
        "return not any(address in network for network in _SPECIAL_V4)",
        "return address.is_global and not address.is_multicast",
        "tests/steward/test_public_addresses.py::test_address_that_is_not_public_is_known",
    ),
    Rule(
        "an IPv6 address that leads to one of IPv4 is judged by that one, too",
        "if inner is not None and not _is_public_v4(inner):",
        "if False:",
        "tests/steward/test_public_addresses.py::test_no_address_of_a_special_network_is_public_from_its_first_to_its_last",
    ),
    Rule(
        "a webhook is told when its receiver says so",
        "if not 200 <= status < 300:",
        "if False:",
        f"{_WEBHOOKS}::test_receiver_that_fails_is_told_again_under_the_same_id",
    ),
    Rule(
        "a taken webhook is leased",
        "lease = round(self._settings.webhook_timeout * 2000) + 1000",
        "lease = 0",
        "tests/steward/test_webhooks.py::test_a_webhook_is_taken_for_longer_than_a_try_may_take",
    ),
    Rule(
        "a receiver that answers slowly keeps no other waiting",
        "await self._until_next(rest)",
        "await receivers.ended.wait()",
        "tests/steward/test_webhooks.py::test_a_receiver_that_answers_slowly_keeps_no_other_waiting",
    ),
    Rule(
        "receivers that do not answer leave places to those that do",
        "Room(UNPROVEN_AT_ONCE - self._unproven,",
        "Room(AT_ONCE,",
        f"{_WEBHOOKS}::test_receivers_that_never_answer_keep_no_other_waiting",
    ),
    Rule(
        "one receiver has a share of the places",
        "SHARE, UNPROVEN_SHARE, self._busy)",
        "AT_ONCE, AT_ONCE, {})",
        f"{_WEBHOOKS}::test_a_new_receiver_is_told_beside_one_that_never_answers",
    ),
    Rule(
        "a receiver that has answered is told to the store",
        "return await self.store.note_receiver(receiver, Answered.PROMPT)",
        "return None",
        "tests/steward/test_webhooks.py::test_a_receiver_is_prompt_from_its_first_answer_until_it_is_slow_or_misses",
    ),
    Rule(
        "a client of a task that is silent takes no more than its share",
        "raise BusyError",
        "pass",
        "tests/steward/test_webhooks.py::test_a_silent_client_of_a_task_holds_no_place_of_another_client",
    ),
    Rule(
        "a post that has ended gives its receiver its place back",
        "finally:\n    self._leave(place, receiver)\n    self._tell_end()",
        "finally:\n    self._tell_end()",
        "tests/steward/test_webhooks.py::test_a_silent_client_of_a_task_holds_no_place_of_another_client",
    ),
    Rule(
        "a name server that does not answer holds up no other name",
        "limiter=_lookups())",
        "limiter=None)",
        "tests/steward/test_webhooks.py::test_name_servers_that_do_not_answer_hold_up_no_other_name",
    ),
    Rule(
        "progress that comes while an earlier one is sent is not done with it",
        "notice_done(notice.name, at_ms=notice.at_ms)",
        "notice_done(notice.name)",
        "tests/steward/test_webhooks.py::test_a_webhook_is_done_as_of_the_moment_that_it_told_of",
    ),
    Rule(
        "what an application declared that is away for a deployment is not named",
        "not found.owner or now - since >= AWAY",
        "True",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
    Rule(
        "what an application declared that stays away is named",
        "not found.owner or now - since >= AWAY",
        "not found.owner",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
    Rule(
        "what nobody declares is named once",
        "due - self.named",
        "due",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
]
