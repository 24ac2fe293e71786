"""Rules and duties of the parent."""

from __future__ import annotations

from tests.rules.rule import Rule

_DEATHS = "tests/parent/test_parent_deaths.py"
_FOREIGN = "tests/trust/test_foreign_code.py"
_HOSTILE = "tests/parent/test_hostile_lines.py"
_ENDS = "tests/parent/test_parent_ends.py"
_NOTIFIER = "tests/parent/test_status_notifier.py"

PARENT = [
    Rule(
        "nothing waits for the reader of the log",
        "os.O_WRONLY | os.O_NONBLOCK |",
        "os.O_WRONLY |",
        "tests/cli/test_unread_log.py::test_every_way_to_stop_ends_it",
    ),
    Rule(
        "dropped lines are those of the process that tells of them",
        "os.register_at_fork(after_in_child=self._begin_anew)",
        "",
        "tests/config/test_standard_error.py::test_a_forked_process_tells_of_its_own_lines_only",
    ),
    Rule(
        "what a drained worker could not give back is counted once",
        "return child.held",
        "return 0",
        "tests/core/test_drain.py::test_what_a_drained_worker_could_not_give_back_is_counted_once",
    ),
    Rule(
        "tasks of a worker that died before the stop are not cut off by it",
        "if death.while_stopping else 0",
        "if view.stopping is not None else 0",
        "tests/core/test_drain.py::test_tasks_of_a_worker_that_died_before_the_stop_are_not_cut_off_by_it",
    ),
    Rule(
        "a worker of the loader is a child of the parent",
        "middle = os.getpid()\npid = os.fork()\nif pid == 0:",
        "middle = os.getpid()\npid = os.getpid()\nif pid:",
        "tests/parent/test_loader.py::test_workers_share_one_import_and_are_children_of_the_parent",
    ),
    Rule(
        "a worker that the loader cannot fork is forked by the parent",
        "except ConnectionError as error:\n    self.children.signal(LOADER",
        "except NotImplementedError as error:\n    self.children.signal(LOADER",
        "tests/parent/test_loader.py::test_a_loader_that_dies_while_it_forks_costs_no_worker",
    ),
    Rule(
        "an import with effects is not shared",
        "if why := not_shareable(before, after):",
        "if why := '':",
        "tests/cli/test_preload.py::test_an_import_that_a_fork_does_not_survive_is_made_in_each_worker",
    ),
    Rule(
        "threads that a library ends at a fork do not keep an import from being shared",
        "after = fork_hazards.look_after_fork(before)",
        "after = fork_hazards.look()",
        "tests/cli/test_preload.py::test_a_library_that_ends_its_threads_at_a_fork_is_shared",
    ),
    Rule(
        "the steward is told of a worker that is silent",
        "(*commands, Send(slots.STEWARD, Silent(child.incarnation)))",
        "commands",
        "tests/core/test_hang.py::test_the_steward_is_told_each_second_of_a_worker_that_is_silent",
    ),
    Rule(
        "the first workers wait for the loader",
        "or loader_decisions.is_awaited(view):",
        ":",
        "tests/parent/test_loader.py::test_workers_wait_for_the_first_import_and_not_for_that_of_a_loader_that_has_died",
    ),
    Rule(
        "a loader of earlier code leaves",
        "child.leaving is None and child.generation != view.generation:\n    leaving",
        "child.leaving is None and False:\n    leaving",
        "tests/parent/test_loader.py::test_a_reload_loads_new_code_in_a_loader_of_its_own_and_there_is_one_at_a_time",
    ),
    Rule(
        "a child looks whether its parent lives",
        "if os.getppid() != parent:",
        "if False:",
        "tests/parent/test_child.py::test_a_child_whose_parent_has_died_before_it_looked_runs_nothing",
    ),
    Rule(
        "a child closes descriptors that are not its own",
        "_close_foreign({0, 1, 2, STREAM.descriptor(), channel.fileno(), *setup.keep})",
        "",
        f"{_DEATHS}::test_a_child_is_born_with_nothing_of_the_parent",
    ),
    Rule(
        "a child does not read the terminal",
        "_read_nothing()\nos.environ[INCARNATION_VARIABLE]",
        "os.environ[INCARNATION_VARIABLE]",
        "tests/parent/test_child.py::test_a_child_does_not_read_what_its_parent_reads",
    ),
    Rule(
        "no child speaks to systemd",
        'os.environ.pop("NOTIFY_SOCKET", None)',
        "",
        f"{_DEATHS}::test_a_child_is_born_with_nothing_of_the_parent",
    ),
    Rule(
        "signals are blocked across the fork",
        "with theirs, received_signals.blocked():",
        "with theirs:",
        f"{_DEATHS}::test_a_signal_between_fork_and_reset_ends_the_child_and_not_the_parent",
    ),
    Rule(
        "the process group of a dead child is killed",
        "os.killpg(pid, signal.SIGKILL)",
        "pass",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "those that fled from a dead child are killed",
        "return len(processes.kill_all(lambda: _fled_from(incarnation, known)))",
        "return 0",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "the parent adopts what its children have left",
        "prctl.become_subreaper()",
        "",
        f"{_DEATHS}::test_what_a_dead_child_has_started_is_killed_however_it_fled",
    ),
    Rule(
        "the end of a stranger is reaped",
        "self._note_stopped()\nwhile (pid := _dead_child()) is not None:",
        "self._note_stopped()\nwhile False and (pid := _dead_child()) is not None:",
        f"{_DEATHS}::test_the_end_of_a_stranger_is_noted_and_changes_nothing",
    ),
    Rule(
        "a child that was stopped is noticed",
        "self._note_stopped()\nwhile",
        "while",
        f"{_DEATHS}::test_a_stopped_child_is_continued",
    ),
    Rule(
        "the last words of a dead child are read",
        "if not process.lines.ended:\n    self._listen(process)",
        "",
        "tests/parent/test_listen.py::test_what_a_child_said_before_its_death_is_heard_before_its_end",
    ),
    Rule(
        "the parent leaves no child behind",
        "self._listener.reaper.kill_all(within=KILLED_WITHIN)",
        "",
        f"{_ENDS}::test_a_bug_in_the_parent_ends_with_70_and_leaves_no_child",
    ),
    Rule(
        "each kill for memory counts once",
        "before, self._seen = self._seen, self._count()\nreturn self._seen > before",
        "before = self._seen\nreturn self._count() > before",
        "tests/parent/test_parts.py::test_each_kill_for_memory_is_seen_once",
    ),
    Rule(
        "one supervisor a runtime folder",
        'if lock is None:\n    announce(f"a supervisor runs already',
        'if False:\n    announce(f"a supervisor runs already',
        f"{_ENDS}::test_a_second_start_is_refused_and_the_first_untouched",
    ),
    Rule(
        "systemd hears of ready after the first worker",
        "if not self._is_ready and ChildKind.WORKER in view.ready_kinds:",
        "if not self._is_ready:",
        f"{_NOTIFIER}::test_a_start_that_makes_headway_asks_for_time_until_it_is_ready",
    ),
    Rule(
        "what systemd could not hear is said again",
        "    self._address)\nexcept OSError:\n    return False",
        "    self._address)\nexcept OSError:\n    return True",
        f"{_NOTIFIER}::test_what_systemd_could_not_hear_is_said_again",
    ),
    Rule(
        "a status is one line",
        'return " ".join(str(value).split())[:LONGEST]',
        "return str(value)[:LONGEST]",
        f"{_NOTIFIER}::test_a_handlers_error_cannot_speak_in_our_name",
    ),
    Rule(
        "SIGHUP that was ignored at the start stays ignored",
        "if not (number is signal.SIGHUP and is_ignored(number)):",
        "if True:",
        "tests/cli/test_terminal.py::test_hup_that_was_ignored_at_the_start_stays_ignored",
    ),
    Rule(
        "workers enter a working folder that was made anew",
        "enter_again(folder)\nreturn work(",
        "return work(",
        "tests/cli/test_boot_errors.py"
        "::test_a_deleted_working_folder_is_a_boot_failure_with_its_cause_and_heals_when_it_is_back",
    ),
    Rule(
        "a folder that another user could replace is refused",
        "service_folders.make_checked(folder, mode)",
        "service_folders.make(folder.path, mode)",
        "tests/trust/test_folders.py::test_a_link_in_the_place_of_the_folder_is_not_followed",
    ),
    Rule(
        "a client at which the parent fails is dropped alone",
        "    step(client)\nexcept Exception:",
        "    step(client)\nexcept NotImplementedError:",
        f"{_HOSTILE}::test_a_client_that_cannot_be_served_is_dropped_and_the_others_are_served",
    ),
    Rule(
        "a request that is nested too deep or is not UTF-8 is refused",
        "UNREADABLE_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)",
        "UNREADABLE_JSON = (msgspec.DecodeError,)",
        f"{_HOSTILE}::test_a_supervisor_survives_what_is_no_request",
    ),
    Rule(
        "a child says nothing in the name of another",
        "if senders is not None and child.slot.kind not in senders:",
        "if False:",
        f"{_HOSTILE}::test_a_child_has_no_say_in_what_is_another_child_s",
    ),
    Rule(
        "a loader names new children of the parent alone",
        "if is_known(pid) or not _is_child(pid):",
        "if False:",
        f"{_HOSTILE}::test_a_loader_cannot_name_a_process_that_is_no_new_child",
    ),
    Rule(
        "an answer without an end is not kept",
        "if len(self._received) > LONGEST_ANSWER:",
        "if False:",
        f"{_HOSTILE}::test_an_answer_without_end_is_not_kept",
    ),
    Rule(
        "root starts no code of others",
        "return list(strangers([*settings.files, *_code(settings)], settings.trust_folders))",
        "return []",
        f"{_FOREIGN}::test_root_starts_nothing_that_others_decide",
    ),
    Rule(
        "settings of others choose nothing that root runs",
        "[*settings.files, *_code(settings)]",
        "[*_code(settings)]",
        f"{_FOREIGN}::test_root_starts_nothing_that_others_decide",
    ),
    Rule(
        "root runs no script of others that a command names",
        "yield from _files_of_program(Path(name), seen)",
        "pass",
        f"{_FOREIGN}::test_a_file_of_a_stranger_that_a_command_names_is_not_run_by_root",
    ),
    Rule(
        "root runs no script whose interpreter is another's",
        "yield from _files_of_program(Path(words[0]), seen)\nyield from _files_of_words(words[1:], seen)",
        "",
        f"{_FOREIGN}::test_a_script_of_root_whose_interpreter_is_a_stranger_s_is_not_run",
    ),
    Rule(
        "root runs no script in a folder where others can write",
        "yield Path(os.path.realpath(path)).parent",
        "",
        f"{_FOREIGN}::test_root_runs_no_script_in_a_folder_in_which_others_can_write",
    ),
    Rule(
        "root runs no command in a folder of others",
        "yield Path.cwd()",
        "",
        f"{_FOREIGN}::test_root_runs_no_command_in_a_folder_of_a_stranger",
    ),
    Rule(
        "code of another user is imported as that user",
        "os.setresuid(owner, owner, owner)",
        "",
        f"{_FOREIGN}::test_the_owner_imports_it_with_the_rights_of_nobody_else",
    ),
    Rule(
        "root imports no module of others that its code imports",
        "sys.meta_path.insert(0, finder)",
        "pass",
        f"{_FOREIGN}::test_a_module_of_a_stranger_in_a_folder_of_root_is_not_imported_later",
    ),
    Rule(
        "a file of a stranger does not say whom root trusts",
        "problems += _trusted_by_strangers(given, files.read())",
        "",
        f"{_FOREIGN}::test_a_file_of_a_stranger_cannot_say_whom_root_trusts",
    ),
    Rule(
        "a client of the control socket that was idle longest gives way",
        "    self._drop(leaving)\nreturn leaving is not None",
        "    return False\nreturn leaving is not None",
        "tests/control/test_socket.py::test_idle_clients_keep_no_command_out",
    ),
    Rule(
        "places of the control socket are kept for root and the owner",
        "len(_strangers(clients, owners)) < MOST_CLIENTS - KEPT",
        "True",
        "tests/control/test_places.py::test_places_are_kept_for_root_and_the_owner",
    ),
]
