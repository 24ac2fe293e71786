"""Rules of the agent."""

from __future__ import annotations

from tests.rules.rule import Rule

_REQUESTS = "tests/a2a/test_requests.py"
_PUSH = "tests/a2a/test_push.py"
_TASKS = "tests/a2a/test_tasks.py"
_ORDER = "tests/a2a/test_queue_order.py"
_VIEWER = "test_a_viewer_sees_no_secrets_and_who_may_send_gets_values_as_they_are"
_STREAMS = "tests/a2a/test_stream_access.py"
_PROCESS = "tests/a2a/test_process.py"

A2A = (
    Rule(
        "the agent is off unless it is asked for",
        "*(_agent() if access.settings.web_a2a else ()),",
        "*_agent(),",
        f"{_PROCESS}::test_without_the_setting_there_is_no_agent",
    ),
    Rule(
        "a viewer sends the agent nothing",
        "check_may(visitor, method.act)",
        "pass",
        f"{_PROCESS}::test_a_viewer_reads_tasks_and_sends_none",
    ),
    Rule(
        "a browser's session does not speak to the agent",
        "if visitor_of(request).login is not Login.HEADER:",
        "if False:",
        f"{_REQUESTS}::test_only_a_program_that_has_logged_in_is_answered",
    ),
    Rule(
        "the agent reads no body over the bound",
        "await read_body(request, queue_of(request).settings.max_message_bytes + AROUND)",
        "await request.body()",
        f"{_REQUESTS}::test_a_body_over_the_bound_is_refused",
    ),
    Rule(
        "a message to the agent is one task however often it comes",
        '"\\0".join(("a2a", who, message.context_id, message.message_id))',
        "__import__('os').urandom(8).hex()",
        f"{_TASKS}::test_the_same_message_twice_is_one_task",
    ),
    Rule(
        "a message of another context is refused",
        'if message.context_id not in ("", context_id):',
        "if False:",
        f"{_REQUESTS}::test_a_message_for_another_context_or_an_unknown_task_is_refused",
    ),
    Rule(
        "the cancel of an ended task is refused",
        "if task.status.state not in TERMINAL:",
        "if True:",
        f"{_TASKS}::test_a_client_that_does_not_wait_asks_later_and_cancels",
    ),
    Rule(
        "a stream waits for a store that is away",
        "with suppress(StoreUnavailableError):\n    told = await",
        "if True:\n    told = await",
        "tests/a2a/test_stream_without_store.py::test_a_stream_goes_on_when_the_store_is_back",
    ),
    Rule(
        "what the agent changes is written down, refusals too",
        "noted(request, call.change, call.about) as asked:",
        'noted(request, "", call.about) as asked:',
        f"{_REQUESTS}::test_what_was_sent_and_canceled_and_refused_is_written_down",
    ),
    Rule(
        "a stream ends when it is to end, also while it is told something",
        "async with asyncio.timeout(pause):\n    await noticed.wait()",
        "await asyncio.wait_for(noticed.wait(), pause)",
        "tests/a2a/test_stream_without_store.py::test_a_stream_that_is_ended_while_it_is_told_something_ends",
    ),
    Rule(
        "streams of the agent are streams as all others",
        "return await stream(request, _events(request, call, method), longest=None)",
        "return __import__('starlette.responses').responses.StreamingResponse(_events(request, call, method))",
        f"{_STREAMS}::test_a_stream_of_the_agent_ends_soon_after_its_user_is_removed",
    ),
    Rule(
        "who waits for a task is told nothing once the login has ended",
        "await check_login_counts(request)\nif working.done():",
        "if working.done():",
        f"{_STREAMS}::test_who_waits_for_a_task_is_told_nothing_once_the_login_has_ended",
    ),
    Rule(
        "a client that names no version speaks 0.3",
        'WITHOUT_HEADER = "0.3"',
        'WITHOUT_HEADER = "1.0"',
        f"{_REQUESTS}::test_a_client_that_names_no_version_speaks_0_3_and_is_told_which_has_the_method",
    ),
    Rule(
        "a field of the agent's requests that is null is not given",
        'if each is not None or name == "data"',
        "",
        f"{_TASKS}::test_a_field_that_is_null_is_not_given",
    ),
    Rule(
        "what is hidden in data and metadata of the agent's requests is left alone",
        "each if name in OPAQUE else _given(each, depth - 1)",
        "_given(each, depth - 1)",
        f"{_TASKS}::test_a_field_that_is_null_is_not_given",
    ),
    Rule(
        "tasks that changed since a moment are chosen before pages are cut",
        "if wanted.since_ms is not None:",
        "if False:",
        f"{_TASKS}::test_tasks_that_changed_since_a_moment_are_listed_in_whole_pages",
    ),
    Rule(
        "a file that is no base64 is refused",
        "if None in content.values():",
        "if False:",
        f"{_REQUESTS}::test_a_message_that_cannot_be_makes_no_task",
    ),
    Rule(
        "a value that is no part is data",
        "if given and all(map(_is_part, given)):",
        "if given and any(map(_is_part, given)):",
        f"{_TASKS}::test_a_value_that_is_no_part_is_data",
    ),
    Rule(
        "a subscription to a question goes on",
        "self.view, from_rest=True)",
        "self.view)",
        "tests/a2a/test_streams.py::test_a_subscription_to_a_question_goes_on_until_the_task_rests_again",
    ),
    Rule(
        "a run that begins anew replaces what the one before has emitted",
        "append=run == self._run",
        "append=True",
        "tests/a2a/test_streams.py::test_killed_workers_cost_a_stream_nothing_but_time",
    ),
    Rule(
        "credentials of push notifications are not read",
        'fields["authentication"] = {"scheme": target.scheme}',
        'fields["authentication"] = {"scheme": target.scheme, "credentials": target.credentials}',
        f"{_PUSH}::test_settings_are_set_read_listed_and_removed",
    ),
    Rule(
        "headers of push notifications are plain",
        "if len(value) > LONGEST or not _PLAIN.fullmatch(value):",
        "if False:",
        f"{_PUSH}::test_settings_that_cannot_be_are_refused",
    ),
    Rule(
        "settings of push notifications are kept before the task can end",
        "if given.target:\n    await _keep_target(doing, task_id, given.target)",
        "pass",
        f"{_PUSH}::test_a_client_is_told_of_a_question_and_of_the_end",
    ),
    Rule(
        "all tasks are listed the last changed first",
        "merge(*map(_by_change, fronts), reverse=True,",
        "merge(*map(_by_change, fronts), reverse=False,",
        f"{_TASKS}::test_all_tasks_are_listed_the_last_changed_first_over_all_pages",
    ),
    Rule(
        "what comes to the head of a list moves no place behind its first task",
        "records, place = await self._listed(front.name, front.behind_first, size)",
        "records, place = await self._listed(front.name, '', taken)",
        f"{_ORDER}::test_no_page_repeats_a_task_while_others_end",
    ),
    Rule(
        "what leaves a list has no other left out",
        "if still[-1] == len(records):",
        "if True:",
        f"{_ORDER}::test_no_page_leaves_out_a_task_while_others_are_deleted",
    ),
    Rule(
        "viewers of the agent see no secrets",
        "None if visitor.may_change else queue_of(request).redaction",
        "None",
        f"{_TASKS}::{_VIEWER}",
    ),
    Rule(
        "viewers of the agent see no secrets in streams",
        "lambda each: asking.seen(each, asking.write(each))",
        "asking.write",
        f"{_TASKS}::{_VIEWER}",
    ),
    Rule(
        "viewers of the agent see no secrets in lists",
        '[asking.seen(*each) for each in zip(tasks, page["tasks"], strict=True)]',
        'page["tasks"]',
        f"{_TASKS}::{_VIEWER}",
    ),
    Rule(
        "viewers of the agent see no secrets in the names of conversations",
        "asking.seen(task, asking.write(task.shortened(asking.params.history_length)))",
        "asking.write(task.shortened(asking.params.history_length))",
        f"{_TASKS}::test_a_viewer_sees_no_secrets_in_the_ids_that_clients_choose",
    ),
    Rule(
        "viewers of the agent see no token of push settings",
        ', **asking.hide({"token": target.token}))',
        ")",
        f"{_PUSH}::test_a_viewer_sees_no_token_and_no_path_of_push_settings",
    ),
    Rule(
        "viewers of the agent see no path of push settings",
        "url=mask_webhook(target.url),",
        "",
        f"{_PUSH}::test_a_viewer_sees_no_token_and_no_path_of_push_settings",
    ),
    Rule(
        "a card is in the words of the version that is asked for",
        "return of_all | newer",
        "return of_all | older",
        f"{_REQUESTS}::test_a_card_that_is_asked_for_in_a_version_has_the_form_of_that_version",
    ),
    Rule(
        "settings that are removed are told of nothing more",
        "await _set_webhook(doing, task_id, before, rest)",
        "",
        f"{_PUSH}::test_a_notice_that_waits_goes_where_settings_are_left_and_else_nowhere",
    ),
    Rule(
        "a producer's webhook is told of no work",
        "if notice.state != State.WORKING and notice.url not in",
        "if notice.url not in",
        f"{_PUSH}::test_a_webhook_of_a_producer_is_told_of_no_work",
    ),
    Rule(
        "the public card does not have the arguments of handlers",
        "[_arguments(handlers)] if is_extended else []",
        "[_arguments(handlers)]",
        f"{_REQUESTS}::test_the_extended_card_has_the_arguments_of_handlers_for_who_has_logged_in",
    ),
)
