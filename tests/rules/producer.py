"""Rules of producers and of their connections."""

from __future__ import annotations

from tests.rules.rule import Rule

_JOINED = "tests/redis/test_joined_submits.py"
_DIRECT = "tests/redis/test_fast_client.py"
_PROTOCOL = "tests/redis/test_command_protocol.py"
_AGAIN = "tests/cli/test_submit_again.py"
_SUBMITTER = "tests/client/test_submitter.py"

_REJECTED = "tests/ledger/test_rejected.py"
_VIEWS = "tests/client/test_views.py"

PRODUCER = [
    Rule(
        "events go on behind the last one that was read",
        "self.position = page.events[-1].position",
        "",
        f"{_VIEWS}::test_events_are_those_of_the_command",
    ),
    Rule(
        "events wait for a store that is away",
        "await anyio.sleep(RETRY_DELAY)\nreturn []",
        "raise",
        f"{_VIEWS}::test_events_go_on_when_the_store_was_away",
    ),
    Rule(
        "events that were deleted unread are reported",
        "if page.missed else []",
        "if False else []",
        f"{_VIEWS}::test_events_that_were_deleted_are_reported",
    ),
    Rule(
        "what an earlier call has promised is rejected, and not dropped, by a later one",
        "(entry.submission, entry.promised) for entry in ready",
        "(entry.submission, False) for entry in ready",
        f"{_REJECTED}::test_its_producer_may_ask_again_before_and_after",
    ),
    Rule(
        "a task that Redis has is not dropped because its second submission is refused",
        "and not entry.promised]",
        "]",
        f"{_REJECTED}::test_a_task_that_redis_has_is_not_dropped_because_its_second_submission_is_refused",
    ),
    Rule(
        "what the steward gives was promised",
        "(one.submission, True) for one in some",
        "(one.submission, False) for one in some",
        f"{_REJECTED}::test_of_two_tasks_with_one_unique_key_the_second_is_rejected",
    ),
    Rule(
        "a kept request at which Redis fails holds up no other",
        "return all([await _give_promised(sql, redis, epoch, [one], verb, put_off) for one in some])",
        "raise",
        f"{_REJECTED}::test_a_task_of_a_damaged_batch_waits_until_that_is_mended",
    ),
    Rule(
        "a task that is to run after one at which Redis fails waits with it",
        "put_off.add(some[0].task_id)",
        "",
        f"{_REJECTED}::test_what_waits_for_one_at_which_redis_fails_waits_with_it",
    ),
    Rule(
        "a task that is to run after one that still waits to be given waits, too",
        "put_off = await _waiting_parents(sql, queue, open_ones)",
        "put_off = set[str]()",
        f"{_REJECTED}::test_what_waits_for_one_that_was_put_off_before_waits_with_it",
    ),
    Rule(
        "an order for a damaged task waits",
        "if word is TaskObstacle.DAMAGED:\n    await _put_off(",
        "if False:\n    await _put_off(",
        f"{_REJECTED}::test_a_cancel_of_a_damaged_task_waits_and_holds_up_no_other",
    ),
    Rule(
        "what is damaged beside a kept request is no refusal",
        "if receipt.accepted is Accepted.DAMAGED:",
        "if False:",
        f"{_REJECTED}::test_a_task_of_a_damaged_batch_waits_until_that_is_mended",
    ),
    Rule(
        "a message for a task that the ledger knows to be over is set aside",
        "late = [one for one in some if not one.known and one.ended]",
        "late: list[Waiting] = []",
        f"{_REJECTED}::test_a_message_that_its_task_does_not_take_any_more_is_set_aside",
    ),
    Rule(
        "a part of a batch is sent before the next is made",
        "start_soon(call.make)\nawait anyio.lowlevel.checkpoint()",
        "start_soon(call.make)",
        f"{_SUBMITTER}::test_a_part_is_made_while_the_one_before_is_on_its_way",
    ),
    Rule(
        "a part of a batch has bounded bytes",
        "and (total := total + size(items[end])) <= CHUNK_BYTES",
        "",
        f"{_SUBMITTER}::test_a_part_has_bounded_bytes",
    ),
    Rule(
        "a task that may be too large is made before anything is written",
        "if len(message) > max_bytes - AROUND:\n    built(checked, queue, max_bytes)",
        "",
        f"{_SUBMITTER}::test_nothing_is_written_of_a_batch_with_a_task_that_is_too_large",
    ),
    Rule(
        "submissions of a call that was cancelled go with the next call",
        "self._waiting.extendleft(reversed(group[1:]))",
        "",
        f"{_JOINED}::test_a_cancelled_caller_takes_no_other_along",
    ),
    Rule(
        "a caller that leaves while it waits is not submitted",
        "self._waiting.remove(caller)",
        "pass",
        f"{_JOINED}::test_a_caller_that_leaves_the_queue_is_not_submitted",
    ),
    Rule(
        "an error of one submission is not the error of the others in its call",
        "if isinstance(caller.error, StoreUnavailableError | StoreFullError):",
        "if caller.error:",
        f"{_JOINED}::test_an_error_is_that_of_the_caller_whose_submission_has_it",
    ),
    Rule(
        "a connection goes back where a caller waits for one",
        "if self._callers_of_pool or",
        "if",
        f"{_DIRECT}::test_more_callers_than_connections_are_all_answered",
    ),
    Rule(
        "a connection that the server has closed is not used again",
        "self._transport.is_closing() or",
        "",
        f"{_DIRECT}::test_a_connection_that_the_server_has_closed_is_not_used_again",
    ),
    Rule(
        "an answer that comes with the one before it belongs to no command",
        "self.is_spoiled = self._reader.has_data()",
        "",
        f"{_PROTOCOL}::test_an_answer_of_no_command_is_nobodys",
    ),
    Rule(
        "an answer that nobody waits for belongs to no command",
        "self.is_spoiled = True\nreturn",
        "pass",
        f"{_PROTOCOL}::test_an_answer_of_no_command_is_nobodys",
    ),
    Rule(
        "a command that was given up closes its connection",
        "except BaseException:\n    protocol.is_spoiled = True",
        "except BaseException:",
        f"{_DIRECT}::test_the_answer_of_a_command_that_was_given_up_reaches_no_other",
    ),
    Rule(
        "the time of each command counts from its own beginning",
        "if left > 0:",
        "if False:",
        f"{_PROTOCOL}::test_no_answer_in_time_ends_the_command_and_its_connection",
    ),
    Rule(
        "a connection that was silent for long is pinged before its next command",
        "    await protocol.ping()\nanswer = protocol.send(packed)\nif self.sent",
        "    pass\nanswer = protocol.send(packed)\nif self.sent",
        f"{_PROTOCOL}::test_a_connection_that_was_silent_for_long_is_pinged_before_its_next_command",
    ),
    Rule(
        "the pool gets its connection back with the library's protocol",
        "protocol.leave()",
        "",
        f"{_PROTOCOL}::test_a_connection_goes_back_to_the_pool_as_it_was",
    ),
    Rule(
        "two lines of a file with the same content are two tasks",
        'digest.update(b"\\0%d\\0%b" % (number, content))',
        "digest.update(content)",
        f"{_AGAIN}::test_the_same_file_again_adds_nothing",
    ),
    Rule(
        "the same lines with other options are other tasks",
        '+ b"\\0" + ascii(template).encode()',
        "",
        f"{_AGAIN}::test_another_file_and_other_options_are_other_tasks",
    ),
    Rule(
        "the lines of a pipe have no derived ids without a key",
        "not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):\n    return None",
        'not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):\n    return "-"',
        f"{_AGAIN}::test_the_same_lines_of_a_pipe_are_new_tasks_unless_a_key_names_them",
    ),
    Rule(
        "the first failure of a call counts as its first attempt",
        "async def attempt() -> T:\n    if failed:",
        "async def attempt() -> T:\n    if False:",
        "tests/client/test_patience.py::test_a_producer_asks_as_often_as_its_settings_say",
    ),
]
