"""Rules and duties of one worker."""

from __future__ import annotations

from tests.rules.rule import Rule

_HERE = "workers/holdfast/worker"

WORKER = [
    Rule(
        "a worker of a quiet host listens to no bells",
        f"{_HERE}/claiming.py",
        "heeds_bells = not (self._quiet or ",
        "heeds_bells = not (",
        "tests/faults/test_quiet.py::test_a_quiet_worker_hears_no_bells_and_asks_for_nothing",
    ),
    Rule(
        "a worker makes the fires of what goes on before it claims again",
        f"{_HERE}/claiming.py",
        "                await self.fires.make(pulled.fires)\n",
        "",
        "tests/timeline/test_weights.py::test_a_job_that_continues_is_back_in_its_lane_before_its_worker_claims",
    ),
    Rule(
        "fires keep a worker from its tasks for a bounded time",
        f"{_HERE}/fires.py",
        "with anyio.move_on_after(self.longest) as",
        "with anyio.CancelScope() as",
        "tests/worker/test_claiming.py::test_a_store_that_keeps_a_worker_from_its_fires_keeps_it_from_its_tasks_for_a_bounded_time",
    ),
    Rule(
        "a later order does not postpone the cancelling",
        f"{_HERE}/draining.py",
        "self._cancel_at = min(self._cancel_at, order.cancel_at)",
        "self._cancel_at = order.cancel_at",
        "tests/worker/test_draining.py::test_a_later_order_does_not_lengthen_the_first",
    ),
    Rule(
        "a later order does not postpone the end",
        f"{_HERE}/draining.py",
        "self._deadline = min(self._deadline, order.deadline)",
        "self._deadline = order.deadline",
        "tests/worker/test_draining.py::test_a_later_order_does_not_lengthen_the_first",
    ),
    Rule(
        "near the end of a drain handlers are cancelled",
        f"{_HERE}/draining.py",
        '        self.stop_all("drain")\n',
        "",
        "tests/worker/test_worker.py::test_drain_past_its_time_releases_in_order_uncharged_with_the_checkpoint",
    ),
    Rule(
        "a quarantine worker without a suspect ends",
        f"{_HERE}/idling.py",
        "while time.monotonic() - idle_since < LONGEST:",
        "while True:",
        "tests/faults/test_quarantine.py::test_a_suspect_runs_in_a_worker_beside_the_pool_which_ends_when_none_waits",
    ),
    Rule(
        "a store that answers again is no trouble any more",
        f"{_HERE}/insist.py",
        "        del self._ailing[what]\n",
        "",
        "tests/worker/test_insist.py::test_what_keeps_a_call_is_shown_until_it_is_answered",
    ),
    Rule(
        "a draining worker claims nothing",
        f"{_HERE}/life.py",
        "if self._post.draining.is_set() or not self._renewal.holds()",
        "if not self._renewal.holds()",
        "tests/worker/test_lease.py::test_a_draining_worker_claims_nothing_before_the_store_knows_that_it_drains",
    ),
    Rule(
        "nothing is claimed past the end of the lease",
        f"{_HERE}/life.py",
        "self._post.draining.is_set() or not self._renewal.holds() or",
        "self._post.draining.is_set() or",
        "tests/worker/test_lease.py::test_nothing_is_claimed_past_the_end_of_a_lease",
    ),
    Rule(
        "a worker without a parent leaves",
        f"{_HERE}/life.py",
        "        self._drain(ChildExit.ORPHANED, self._post.spec.settings.drain_timeout)\n",
        "",
        "tests/worker/test_worker.py::test_orphaned_worker_finishes_and_leaves",
    ),
    Rule(
        "SIGTERM drains",
        f"{_HERE}/life.py",
        "                self._drain(ChildExit.OK, self._post.spec.settings.drain_timeout)\n",
        "                pass\n",
        "tests/worker/test_worker.py::test_sigterm_drains",
    ),
    Rule(
        "a worker that was declared dead ends",
        f"{_HERE}/life.py",
        "        self._drain(ChildExit.FENCED, 0.0)\n",
        "",
        "tests/worker/test_worker.py::test_worker_declared_dead_cancels_everything_and_ends_fenced",
    ),
    Rule(
        "a thread that does not stop ends its worker",
        f"{_HERE}/life.py",
        "        self._drain(ChildExit.STUCK, self._post.spec.settings.drain_timeout)\n",
        "",
        "tests/worker/test_worker.py::test_thread_that_will_not_stop_costs_its_worker",
    ),
    Rule(
        "a thread that does not stop does not keep the process",
        f"{_HERE}/life.py",
        "if self._post.exchange.held and self._own_process:",
        "if False:",
        "tests/worker/test_worker.py::test_thread_that_will_not_stop_costs_its_worker",
    ),
    Rule(
        "a free slot ends the wait for hints alone",
        f"{_HERE}/listening.py",
        "if self._deaf and self.claims.hungry:",
        "if False:",
        "tests/worker/test_worker.py::test_full_worker_hears_the_bell_again_once_it_has_a_free_slot",
    ),
    Rule(
        "who keeps apart for a suspect asks after each wait",
        f"{_HERE}/listening.py",
        "case None if not self._deaf or self.claims.apart:",
        "case None if not self._deaf:",
        "tests/worker/test_claiming.py::test_who_keeps_apart_asks_once_after_each_wait_for_hints",
    ),
    Rule(
        "who keeps apart for a suspect listens to no bells",
        f"{_HERE}/claiming.py",
        "self._quiet or self._apart or self._due.is_set()",
        "self._quiet or self._due.is_set()",
        "tests/worker/test_claiming.py::test_no_bell_is_for_a_process_that_keeps_apart_for_a_suspect",
    ),
    Rule(
        "the lock bears the name of its worker",
        f"{_HERE}/lockfile.py",
        "    locks.mark_process(descriptor)\n",
        "",
        "tests/faults/test_orphans.py"
        "::test_next_start_kills_what_a_killed_worker_had_forked_and_recovers_its_task_at_once",
    ),
    Rule(
        "a lease counts from the sending",
        f"{_HERE}/renewing.py",
        "Lease(self.lease.seconds, sent_at)",
        "Lease(self.lease.seconds, clock())",
        "tests/worker/test_lease.py::test_a_lease_is_counted_from_the_sending_of_its_renewal",
    ),
    Rule(
        "a strict fence ends the process with its lease",
        f"{_HERE}/renewing.py",
        "            signal.setitimer(signal.ITIMER_REAL, self.lease.seconds)\n",
        "            pass\n",
        "tests/worker/test_worker.py::test_strict_fence_ends_a_worker_whose_loop_is_held",
    ),
    Rule(
        "a handler stops when its task is another's",
        f"{_HERE}/renewing.py",
        '            self.hands.stop(task_id, claims[task_id], "lost")\n',
        "            pass\n",
        "tests/worker/test_worker.py::test_lost_cancel_hint_costs_no_more_than_a_renewal",
    ),
    Rule(
        "a renewal repeats a pause",
        f"{_HERE}/renewing.py",
        '            self.hands.stop(task_id, claims[task_id], "pause")\n',
        "            pass\n",
        "tests/faults/test_network_renew.py::test_pause_whose_hint_was_lost_is_heard_with_a_renewal",
    ),
    Rule(
        "a renewal tells of work that waits",
        f"{_HERE}/renewing.py",
        "            if renewed.waiting:\n",
        "            if False:\n",
        "tests/faults/test_network_bells.py"
        "::test_work_for_the_only_worker_is_found_by_its_next_renewal_when_it_is_deaf",
    ),
    Rule(
        "a renewal tells whether the host is quiet",
        f"{_HERE}/renewing.py",
        "            self.heed_quiet(renewed.quiet)\n",
        "",
        "tests/faults/test_quiet.py::test_a_hint_that_was_lost_costs_no_more_than_a_renewal",
    ),
    Rule(
        "a handler stops when another turn of its task was claimed",
        f"{_HERE}/running.py",
        '            earlier.stop("another-turn")\n',
        "            pass\n",
        "tests/worker/test_running.py::test_an_earlier_turn_is_stopped_by_the_claim_of_another_and_told_of_as_stopped",
    ),
    Rule(
        "a turn begins when the earlier one has ended",
        f"{_HERE}/running.py",
        "            await running.alone()\n",
        "",
        "tests/worker/test_running.py"
        "::test_another_turn_of_a_task_begins_when_the_running_one_has_ended_and_its_result_counts_alone",
    ),
    Rule(
        "the end of an earlier turn settles nothing",
        f"{_HERE}/running.py",
        "        if is_latest:\n            del self._running",
        "        if not is_latest:\n            self.post.exchange.finish(delivery.task_id, report)\n"
        "        else:\n            del self._running",
        "tests/worker/test_running.py"
        "::test_another_turn_of_a_task_begins_when_the_running_one_has_ended_and_its_result_counts_alone",
    ),
    Rule(
        "the log says that an earlier turn was stopped, whatever came of it",
        f"{_HERE}/running.py",
        "            outcome = Stopped(running.why)\n",
        "            pass\n",
        "tests/worker/test_running.py::test_an_earlier_turn_is_stopped_by_the_claim_of_another_and_told_of_as_stopped",
    ),
    Rule(
        "whatever leaves a delivery ends it",
        f"{_HERE}/running.py",
        "        except BaseException as error:\n",
        "        except ValueError as error:\n",
        "tests/worker/test_worker.py::test_whatever_leaves_a_delivery_ends_it_and_frees_its_slot",
    ),
    Rule(
        "handlers end with their worker",
        f"{_HERE}/running.py",
        '                self.stop_all("over")\n',
        "",
        "tests/worker/test_running.py::test_a_handler_in_a_thread_is_asked_to_stop_and_waited_for",
    ),
    Rule(
        "at most a quarter of the slots waits for a place",
        f"{_HERE}/rooms.py",
        "return self._waiting < self.slots // 4",
        "return True",
        "tests/worker/test_rooms.py::test_a_worker_with_few_slots_lets_nobody_wait",
    ),
    Rule(
        "a schedule of another application is asked for again",
        f"{_HERE}/planning.py",
        "            await self._ask_again(foreign)\n",
        "            pass\n",
        "tests/faults/test_schedules_of_the_code.py"
        "::test_one_moves_to_another_application_and_stays_when_that_gets_another_name",
    ),
]
