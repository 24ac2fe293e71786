"""Rules and duties of the steward."""

from __future__ import annotations

from tests.rules.rule import Rule

_HERE = "supervisor/holdfastd/steward"
_RECOVERY = "tests/supervisor/test_steward_recovery.py"
_ORPHANS = "tests/supervisor/test_steward_orphans.py"
_LEASES = "tests/supervisor/test_steward_leases.py"
_BELLS = "tests/supervisor/test_steward_bells.py"
_LANES = "tests/supervisor/test_steward_lanes.py"
_PROCESS = "tests/supervisor/test_steward_process.py"
_WEBHOOKS = "tests/faults/test_webhooks.py"

STEWARD = [
    Rule(
        "a reported death names what had begun",
        f"{_HERE}/duties/worker_recovery.py",
        "                begun=self.locks.begun(death.incarnation),\n",
        "",
        "tests/faults/test_begun.py::test_a_crash_is_charged_to_what_had_begun_alone",
    ),
    Rule(
        "the next start names what had begun",
        f"{_HERE}/duties/orphans.py",
        "        begun = self._locks.begun(incarnation)\n",
        "        begun = None\n",
        "tests/faults/test_begun.py::test_the_next_start_counts_a_recovery_for_what_had_begun_alone",
    ),
    Rule(
        "the page of a dead worker goes with it",
        f"{_HERE}/lock_files.py",
        "        self._page(incarnation).unlink(missing_ok=True)\n",
        "",
        "tests/faults/test_begun.py::test_a_crash_is_charged_to_what_had_begun_alone",
    ),
    Rule(
        "a recorded death is acknowledged",
        f"{_HERE}/duties/worker_recovery.py",
        "            self.acknowledge(Acknowledged(death.incarnation, count))\n",
        "",
        f"{_RECOVERY}::test_deaths_are_recovered_in_the_order_told_and_acknowledged_with_their_counts",
    ),
    Rule(
        "a death that cannot be recorded lets the others pass",
        f"{_HERE}/duties/worker_recovery.py",
        "            self.roster.defer(death.incarnation)",
        "            pass",
        f"{_RECOVERY}::test_a_death_that_cannot_be_recorded_does_not_hold_up_the_others",
    ),
    Rule(
        "deaths keep their order while the store is away",
        f"{_HERE}/duties/worker_recovery.py",
        "        except StoreUnavailableError:\n            raise\n",
        "",
        f"{_RECOVERY}::test_while_the_store_is_away_deaths_wait_in_order",
    ),
    Rule(
        "a death wakes recovery",
        f"{_HERE}/roster.py",
        "        self._dead.setdefault(death.incarnation, death)\n        self._announce()\n",
        "        self._dead.setdefault(death.incarnation, death)\n",
        f"{_RECOVERY}::test_a_death_wakes_recovery_at_once",
    ),
    Rule(
        "a dead worker is vouched for no more",
        f"{_HERE}/roster.py",
        "        self._living.pop(death.incarnation, None)\n",
        "",
        f"{_LEASES}::test_the_living_are_vouched_for_and_the_dead_no_more",
    ),
    Rule(
        "a steward leaves when no death waits any more",
        f"{_HERE}/roster.py",
        "        while self._dead:\n",
        "        while False:\n",
        f"{_PROCESS}::test_asked_to_leave_it_acknowledges_what_it_was_told_first",
    ),
    Rule(
        "a new steward vouches as soon as it knows its workers",
        f"{_HERE}/duties/lease_renewal.py",
        "if roster.living else roster.wait_for_change(seconds)",
        "if True else roster.wait_for_change(seconds)",
        f"{_LEASES}::test_a_new_steward_vouches_as_soon_as_it_hears_of_its_family",
    ),
    Rule(
        "a worker of this parent is no orphan",
        f"{_HERE}/duties/orphans.py",
        "return not self._roster.knows(incarnation) and self._locks.is_dead(incarnation)",
        "return self._locks.is_dead(incarnation)",
        f"{_ORPHANS}::test_a_worker_whose_birth_is_told_between_two_sightings_is_none",
    ),
    Rule(
        "an orphan that lives is left alone",
        f"{_HERE}/duties/orphans.py",
        " and self._locks.is_dead(incarnation)\n",
        "\n",
        f"{_ORPHANS}::test_an_orphan_that_still_lives_is_not_killed",
    ),
    Rule(
        "a stranger is judged at its second sighting",
        f"{_HERE}/duties/orphans.py",
        "sorted(present & self._foreign)",
        "sorted(present)",
        f"{_ORPHANS}::test_a_stranger_is_judged_at_its_second_sighting_only",
    ),
    Rule(
        "nothing is recovered while a child of an orphan lives",
        f"{_HERE}/duties/orphans.py",
        "        if not await self._is_over(incarnation):\n",
        "        if False:\n",
        f"{_ORPHANS}::test_nothing_is_recovered_while_a_child_that_bears_no_name_holds_the_lock",
    ),
    Rule(
        "what an orphan has forked is killed",
        f"{_HERE}/orphan_processes.py",
        "    return processes.kill_all(lambda: _left_by(incarnations))\n",
        "    return 0\n",
        f"{_ORPHANS}::test_a_child_that_holds_the_lock_of_a_dead_worker_is_killed_first",
    ),
    Rule(
        "a file is a lock file by its whole name",
        f"{_HERE}/lock_files.py",
        "if _INCARNATION.fullmatch(name)",
        "if name",
        f"{_ORPHANS}::test_files_that_are_named_after_no_incarnation_are_left_alone",
    ),
    Rule(
        "nobody is reaped while leases are in doubt",
        f"{_HERE}/duties/expired_leases.py",
        "        if await self._watch.leases_hold():\n",
        "        if await self._watch.leases_hold() or True:\n",
        f"{_LEASES}::test_after_a_disturbance_nobody_is_reaped_for_a_lease",
    ),
    Rule(
        "nothing is trimmed by a clock that was set forward",
        f"{_HERE}/duties/retention.py",
        "        if not await watch.ages_hold():\n",
        "        if not await watch.ages_hold() and False:\n",
        f"{_LEASES}::test_nothing_is_trimmed_by_a_clock_that_was_set_forward",
    ),
    Rule(
        "a steward that starts compares the store's clock with its host's",
        f"{_HERE}/clock_watch.py",
        "            return ahead(look, self._wall())\n",
        "            return 0.0\n",
        f"{_LEASES}::test_a_steward_that_starts_while_the_clock_is_ahead_trims_nothing",
    ),
    Rule(
        "another server makes leases doubtful",
        f"{_HERE}/lease_trust.py",
        "    if now.run_id != before.run_id:\n",
        "    if False:\n",
        "tests/supervisor/test_steward_trust.py::test_every_disturbance_makes_leases_doubtful",
    ),
    Rule(
        "a late answer makes leases doubtful",
        f"{_HERE}/lease_trust.py",
        "    if now.took > tolerance:\n",
        "    if False:\n",
        "tests/supervisor/test_steward_trust.py::test_every_disturbance_makes_leases_doubtful",
    ),
    Rule(
        "a store that was away makes leases doubtful",
        f"{_HERE}/duty.py",
        "            health.report_unreachable(name, trouble)\n",
        "            health.report(name, trouble)\n",
        "tests/supervisor/test_steward_duty.py::test_only_a_store_that_was_away_makes_leases_doubtful",
    ),
    Rule(
        "connections that are all in use are no outage",
        f"{_HERE}/duty.py",
        "case LedgerUnavailableError() | ConnectionLimitError():",
        "case LedgerUnavailableError():",
        "tests/supervisor/test_many_lanes.py::test_connections_that_are_all_in_use_are_no_outage",
    ),
    Rule(
        "an empty lane is peeked at",
        f"{_HERE}/duties/bells.py",
        "            await self._peek()\n",
        "            pass\n",
        f"{_LANES}::test_an_empty_lane_is_peeked_at_and_rung_as_soon_as_it_holds_something",
    ),
    Rule(
        "the steward does not ring for what was rung for",
        f"{_HERE}/duties/bells.py",
        "return is_own(self._head) and",
        "return False and",
        f"{_BELLS}::test_the_steward_does_not_ring_for_tasks_for_which_their_producer_has_rung",
    ),
    Rule(
        "the steward rings at once for an entry of another producer",
        f"{_HERE}/duties/bells.py",
        "return is_own(self._head) and",
        "return bool(self._head) and",
        f"{_BELLS}::test_the_steward_rings_for_each_entry_of_another_producer",
    ),
    Rule(
        "a lane whose bells are heard is looked at soon again",
        f"{_HERE}/duties/bells.py",
        "min(2 * pause, LAST_PAUSE) if unrung else FIRST_PAUSE",
        "min(2 * pause, LAST_PAUSE)",
        f"{_LANES}::test_a_lane_whose_bells_are_heard_is_looked_at_soon_again",
    ),
    Rule(
        "a lane whose bells nobody hears is looked at more rarely",
        f"{_HERE}/duties/bells.py",
        "min(2 * pause, LAST_PAUSE) if unrung else FIRST_PAUSE",
        "FIRST_PAUSE",
        f"{_LANES}::test_a_lane_whose_bells_nobody_hears_is_looked_at_ever_more_rarely",
    ),
    Rule(
        "the steward trusts a bell for a moment only",
        f"{_HERE}/duties/bells.py",
        " and self._pause <= TRUSTING_PAUSE",
        "",
        f"{_BELLS}::test_the_steward_rings_for_a_task_whose_bell_was_lost",
    ),
    Rule(
        "lanes beyond the most that are peeked at are looked at",
        f"{_HERE}/duties/bells.py",
        "        yield rings(store, lanes[MOST_PEEKS:])\n",
        "        yield from ()\n",
        "tests/supervisor/test_many_lanes.py::test_each_of_many_lanes_is_rung_for_and_the_steward_is_well",
    ),
    Rule(
        "an audit goes on at its cursor",
        f"{_HERE}/duties/lane_audit.py",
        "self._store.audit(self._lane, WINDOW, self._cursor)",
        'self._store.audit(self._lane, WINDOW, "")',
        f"{_LANES}::test_audit_goes_on_at_its_cursor_and_then_begins_anew",
    ),
    Rule(
        "a crowd of due tasks is promoted without a rest",
        f"{_HERE}/duties/promotion.py",
        "            if promoted < BATCH and due_in != 0:\n",
        "            if True:\n",
        f"{_LANES}::test_a_crowd_of_due_tasks_is_promoted_without_a_rest",
    ),
    Rule(
        "a store that was emptied hears the bounds again",
        f"{_HERE}/duties/lane_limits.py",
        "if not self._is_declared or (self._rules and self._is_silent(await self._store.lanes([]))):",
        "if not self._is_declared:",
        "tests/supervisor/test_steward_bounds.py::test_a_store_that_was_emptied_gets_them_again",
    ),
    Rule(
        "without its parent a steward ends",
        f"{_HERE}/steward.py",
        "        self.ending.finish(ChildExit.ORPHANED)\n",
        "",
        f"{_PROCESS}::test_without_a_parent_it_ends_at_once",
    ),
    Rule(
        "only the first steward must find the store fit",
        f"{_HERE}/steward.py",
        "await preflight(self.store, self.spec.settings) if self.spec.first else None",
        "await preflight(self.store, self.spec.settings)",
        f"{_PROCESS}::test_on_later_boots_an_unreachable_store_is_waited_for",
    ),
    Rule(
        "a steward leaves by its deadline",
        f"{_HERE}/steward.py",
        "        with anyio.move_on_after(deadline - time.monotonic()):\n",
        "        with anyio.move_on_after(None):\n",
        f"{_PROCESS}::test_it_leaves_by_the_deadline_though_the_store_is_away",
    ),
    Rule(
        "a time file follows no link",
        f"{_HERE}/duties/time_file.py",
        "    beside.unlink(missing_ok=True)\n    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL"
        " | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)\n",
        "    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)\n",
        "tests/trust/test_locks.py::test_the_time_file_overwrites_no_file_that_a_link_beside_it_leads_to",
    ),
    Rule(
        "a webhook reaches no private address",
        f"{_HERE}/webhook_post.py",
        "        if private and not self.allow_private:\n",
        "        if False:\n",
        f"{_WEBHOOKS}::test_private_address_is_refused_unless_allowed",
    ),
    Rule(
        "a webhook is told when its receiver says so",
        f"{_HERE}/webhook_post.py",
        "        if not 200 <= status < 300:\n",
        "        if False:\n",
        f"{_WEBHOOKS}::test_receiver_that_fails_is_told_again_under_the_same_id",
    ),
    Rule(
        "a taken webhook is leased",
        f"{_HERE}/duties/webhooks.py",
        "lease = round(self._settings.webhook_timeout * 2000) + 1000",
        "lease = 0",
        "tests/supervisor/test_steward_webhooks.py::test_a_webhook_is_taken_for_longer_than_a_try_may_take",
    ),
    Rule(
        "what an application declared that is away for a deployment is not named",
        f"{_HERE}/duties/undeclared_schedules.py",
        "not found.owner or now - since >= AWAY",
        "True",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
    Rule(
        "what an application declared that stays away is named",
        f"{_HERE}/duties/undeclared_schedules.py",
        "not found.owner or now - since >= AWAY",
        "not found.owner",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
    Rule(
        "what nobody declares is named once",
        f"{_HERE}/duties/undeclared_schedules.py",
        "due - self.named",
        "due",
        "tests/schedules/test_declared.py"
        "::test_stewards_name_what_is_left_once_and_that_of_an_application_when_it_stays_away",
    ),
]
