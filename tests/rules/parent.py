"""Rules and duties of the parent."""

from __future__ import annotations

from tests.rules.rule import Rule

_HERE = "supervisor/holdfastd/parent"
_DEATHS = "tests/supervisor/test_parent_deaths.py"
_ENDS = "tests/supervisor/test_parent_ends.py"
_NOTIFIER = "tests/supervisor/test_status_notifier.py"

PARENT = [
    Rule(
        "nothing waits for the reader of the log",
        "config/holdfast_config/standard_error.py",
        "os.O_WRONLY | os.O_NONBLOCK |",
        "os.O_WRONLY |",
        "tests/cli/test_unread_log.py::test_every_way_to_stop_ends_it",
    ),
    Rule(
        "dropped lines are those of the process that tells of them",
        "config/holdfast_config/standard_error.py",
        "        os.register_at_fork(after_in_child=self._begin_anew)\n",
        "",
        "tests/config/test_standard_error.py::test_a_forked_process_tells_of_its_own_lines_only",
    ),
    Rule(
        "what a drained worker could not give back is counted once",
        "supervisor/holdfastd/core/drain.py",
        "        return child.held\n",
        "        return 0\n",
        "tests/supervisor/test_drain.py::test_what_a_drained_worker_could_not_give_back_is_counted_once",
    ),
    Rule(
        "tasks of a worker that died before the stop are not cut off by it",
        "supervisor/holdfastd/core/notify_steward.py",
        " if death.while_stopping else 0\n",
        " if view.stopping is not None else 0\n",
        "tests/supervisor/test_drain.py::test_tasks_of_a_worker_that_died_before_the_stop_are_not_cut_off_by_it",
    ),
    Rule(
        "a worker of the loader is a child of the parent",
        f"{_HERE}/loader.py",
        "        pid = os.fork()\n        if pid == 0:\n",
        "        pid = os.getpid()\n        if pid:\n",
        "tests/supervisor/test_loader.py::test_workers_share_one_import_and_are_children_of_the_parent",
    ),
    Rule(
        "a worker that the loader cannot fork is forked by the parent",
        f"{_HERE}/execute.py",
        "            except ConnectionError as error:\n",
        "            except NotImplementedError as error:\n",
        "tests/supervisor/test_loader.py::test_a_loader_that_dies_while_it_forks_costs_no_worker",
    ),
    Rule(
        "an import with effects is not shared",
        f"{_HERE}/preload_handler.py",
        "    if why := not_shareable(before, after):\n",
        "    if why := '':\n",
        "tests/cli/test_preload.py::test_an_import_that_a_fork_does_not_survive_is_made_in_each_worker",
    ),
    Rule(
        "the steward is told of a worker that is silent",
        "supervisor/holdfastd/core/hang.py",
        "(*commands, Send(STEWARD, Silent(child.incarnation)))",
        "commands",
        "tests/supervisor/test_hang.py::test_the_steward_is_told_each_second_of_a_worker_that_is_silent",
    ),
    Rule(
        "the first workers wait for the loader",
        "supervisor/holdfastd/core/fill.py",
        " or loader.is_awaited(view):",
        ":",
        "tests/supervisor/test_loader.py::test_workers_wait_for_the_first_import_and_not_for_that_of_a_loader_that_has_died",
    ),
    Rule(
        "a loader of earlier code leaves",
        "supervisor/holdfastd/core/loader.py",
        "child.leaving is None and child.generation != view.generation:\n        leaving",
        "child.leaving is None and False:\n        leaving",
        "tests/supervisor/test_loader.py::test_a_reload_loads_new_code_in_a_loader_of_its_own_and_there_is_one_at_a_time",
    ),
    Rule(
        "a child looks whether its parent lives",
        f"{_HERE}/child_setup.py",
        "    if os.getppid() != parent:",
        "    if False:",
        "tests/supervisor/test_child.py::test_a_child_whose_parent_has_died_before_it_looked_runs_nothing",
    ),
    Rule(
        "a child closes descriptors that are not its own",
        f"{_HERE}/child_setup.py",
        "    _close_foreign({0, 1, 2, STREAM.descriptor(), channel.fileno(), *setup.keep})\n",
        "",
        f"{_DEATHS}::test_a_child_is_born_with_nothing_of_the_parent",
    ),
    Rule(
        "a child does not read the terminal",
        f"{_HERE}/child_setup.py",
        "    _read_nothing()\n",
        "",
        "tests/supervisor/test_child.py::test_a_child_does_not_read_what_its_parent_reads",
    ),
    Rule(
        "no child speaks to systemd",
        f"{_HERE}/child_setup.py",
        '    os.environ.pop("NOTIFY_SOCKET", None)\n',
        "",
        f"{_DEATHS}::test_a_child_is_born_with_nothing_of_the_parent",
    ),
    Rule(
        "signals are blocked across the fork",
        f"{_HERE}/fork.py",
        "    with theirs, received_signals.blocked():\n",
        "    with theirs:\n",
        f"{_DEATHS}::test_a_signal_between_fork_and_reset_ends_the_child_and_not_the_parent",
    ),
    Rule(
        "the process group of a dead child is killed",
        f"{_HERE}/leftover_processes.py",
        "        os.killpg(pid, signal.SIGKILL)\n",
        "        pass\n",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "those that fled from a dead child are killed",
        f"{_HERE}/leftover_processes.py",
        "    return len(processes.kill_all(lambda: _fled_from(incarnation, known)))\n",
        "    return 0\n",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "the parent adopts what its children have left",
        f"{_HERE}/supervise.py",
        "    prctl.become_subreaper()\n",
        "",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "the end of a stranger is reaped",
        f"{_HERE}/reap.py",
        "        self._note_stopped()\n        while (pid := _peek(os.P_ALL, 0)) is not None:\n",
        "        self._note_stopped()\n        while False and (pid := _peek(os.P_ALL, 0)) is not None:\n",
        f"{_DEATHS}::test_the_end_of_a_stranger_is_noted_and_changes_nothing",
    ),
    Rule(
        "a child that was stopped is noticed",
        f"{_HERE}/reap.py",
        "        self._note_stopped()\n        while",
        "        while",
        f"{_DEATHS}::test_a_stopped_child_is_continued",
    ),
    Rule(
        "the last words of a dead child are read",
        f"{_HERE}/child_listener.py",
        "        if not process.lines.ended:\n            self._listen(process)\n",
        "",
        "tests/supervisor/test_listen.py::test_what_a_child_said_before_its_death_is_heard_before_its_end",
    ),
    Rule(
        "the parent leaves no child behind",
        f"{_HERE}/parent.py",
        "        self._listener.reaper.kill_all(within=KILLED_WITHIN)\n",
        "",
        f"{_ENDS}::test_a_bug_in_the_parent_ends_with_70_and_leaves_no_child",
    ),
    Rule(
        "each kill for memory counts once",
        f"{_HERE}/oom_kills.py",
        "before, self._seen = self._seen, self._count()\n        return self._seen > before",
        "before = self._seen\n        return self._count() > before",
        "tests/supervisor/test_parts.py::test_each_kill_for_memory_is_seen_once",
    ),
    Rule(
        "one supervisor a runtime folder",
        f"{_HERE}/supervise.py",
        "    if lock is None:\n",
        "    if False:\n",
        f"{_ENDS}::test_a_second_start_is_refused_and_the_first_untouched",
    ),
    Rule(
        "systemd hears of ready after the first worker",
        f"{_HERE}/status.py",
        "if not self._is_ready and ChildKind.WORKER in view.ready_kinds:",
        "if not self._is_ready:",
        f"{_NOTIFIER}::test_a_start_that_makes_headway_asks_for_time_until_it_is_ready",
    ),
    Rule(
        "what systemd could not hear is said again",
        f"{_HERE}/systemd_notify.py",
        "        except OSError:\n            return False\n",
        "        except OSError:\n            return True\n",
        f"{_NOTIFIER}::test_what_systemd_could_not_hear_is_said_again",
    ),
    Rule(
        "a status is one line",
        f"{_HERE}/systemd_notify.py",
        'return " ".join(str(value).split())[:LONGEST]',
        "return str(value)[:LONGEST]",
        f"{_NOTIFIER}::test_a_handlers_error_cannot_speak_in_our_name",
    ),
    Rule(
        "SIGHUP that was ignored at the start stays ignored",
        f"{_HERE}/received_signals.py",
        "            if not (number is signal.SIGHUP and is_ignored(number)):\n",
        "            if True:\n",
        "tests/cli/test_terminal.py::test_hup_that_was_ignored_at_the_start_stays_ignored",
    ),
    Rule(
        "workers enter a working folder that was made anew",
        f"{_HERE}/main.py",
        "        enter_again(folder)\n        return work(",
        "        return work(",
        "tests/cli/test_boot_errors.py"
        "::test_a_deleted_working_folder_is_a_boot_failure_with_its_cause_and_heals_when_it_is_back",
    ),
    Rule(
        "a folder that another user could replace is refused",
        f"{_HERE}/make_folders.py",
        "        service_folders.make_checked(folder, mode)\n",
        "        service_folders.make(folder.path, mode)\n",
        "tests/trust/test_folders.py::test_a_link_in_the_place_of_the_folder_is_not_followed",
    ),
]
