"""Rules of the dashboard."""

from __future__ import annotations

from tests.rules.rule import Rule

_ACCESS = "tests/dashboard/test_access.py"
_ACCOUNTS = "tests/dashboard/test_accounts.py"
_BROKEN = "tests/dashboard/test_broken_requests.py"
_LIVE = "tests/dashboard/test_live.py"
_BULK = "tests/dashboard/test_bulk.py"
_REFUSED = "tests/dashboard/test_refused_changes.py"
_BULK_STEPS = "tests/conformance/test_bulk_changes.py"
_OPEN_TESTS = "tests/dashboard/test_open_connections.py"
_REDACTION = "tests/dashboard/test_redaction.py"
_FORMS = "tests/dashboard/test_secret_forms.py"
_PAGES = "tests/dashboard/test_pages.py"
_API = "tests/dashboard/test_api.py"
_TASK = "tests/dashboard/test_task_page.py"
_SUBMIT = "tests/dashboard/test_submit_form.py"

DASHBOARD = (
    Rule(
        "of two processes that go on with a change of many tasks one does",
        "return resumed and replace(resumed, run=run)",
        "return resumed",
        "tests/conformance/test_bulk_changes.py::test_of_two_that_resume_it_at_once_one_goes_on",
    ),
    Rule(
        "a change of many tasks counts the step in which it was stopped",
        '        if run != b"%d" % after.run:\n            return False\n',
        '        if run != b"%d" % after.run or state != BulkState.RUNNING.encode():\n            return False\n',
        "tests/conformance/test_bulk_changes.py::test_a_stop_is_not_overwritten_and_the_next_run_alone_writes",
    ),
    Rule(
        "a change of many tasks goes on when its last step has ended",
        "            await asyncio.wait((before,))\n",
        "            pass\n",
        f"{_BULK}::test_a_change_that_is_stopped_and_goes_on_at_once_counts_each_task_once",
    ),
    Rule(
        "an interrupt of the command stops a change of many tasks",
        "await stop_it()\n",
        "pass\n",
        "tests/cli/test_bulk.py::test_an_interrupt_stops_it_after_its_step_and_it_is_taken_up_again",
    ),
    Rule(
        "an interrupt of the command ends it while the store is away",
        "shield=True), suppress(StoreError):",
        "shield=True):",
        "tests/cli/test_bulk.py::test_an_interrupt_while_the_store_is_away_ends_it_as_an_interrupt",
    ),
    Rule(
        "the filter of a change of many tasks shows no secret",
        "HIDDEN if self.hides(name) else self.text(value)) for",
        "value) for",
        f"{_REDACTION}::test_the_filter_of_a_change_of_many_tasks_shows_no_secret",
    ),
    Rule(
        "the filter of a change of many tasks shows no secret in the API",
        "return bulk_document(change, now_ms, call.access.redaction.query)",
        "return bulk_document(change, now_ms)",
        f"{_REDACTION}::test_the_filter_of_a_change_of_many_tasks_shows_no_secret",
    ),
    Rule(
        "the filter of a change of many tasks shows no secret in the activity",
        "shown(self.query)",
        "self.query",
        f"{_REDACTION}::test_the_filter_of_a_change_of_many_tasks_shows_no_secret",
    ),
    Rule(
        "a change of many tasks by the command line finds none by a hidden value",
        ", _redaction(session).value",
        "",
        "tests/cli/test_bulk.py::test_hidden_values_are_not_searched",
    ),
    Rule(
        "a text is looked through in linear time",
        r"((?<!\\)\\*+[" + "\"'`])|[{}",
        r"(\\*[" + "\"'`])|[{}",
        f"{_REDACTION}::test_twice_as_long_a_text_takes_twice_as_long",
    ),
    Rule(
        "a value that may be none is passed to its next quote alone",
        "    closing = _CLOSING[quoted[3]].search(text, quoted.end()) if quoted else None\n",
        "    closing = _CLOSING[quoted[3]].search(text, _end_of_quoted(text, quoted)[0] - 1) if quoted else None\n",
        f"{_REDACTION}::test_twice_as_long_a_text_takes_twice_as_long",
    ),
    Rule(
        "a flag is looked for in linear time",
        r"(?<![\w.-])(?P<name>--?[A-Za-z]",
        r"(?<![\w-])(?P<name>--?[A-Za-z]",
        f"{_FORMS}::test_eight_times_as_long_a_text_takes_about_eight_times_as_long",
    ),
    Rule(
        "a name is looked up as it reads",
        "    if not is_odd(text):\n",
        "    if True:\n",
        f"{_FORMS}::test_a_secret_is_hidden_in_each_form",
    ),
    Rule(
        "an ordinary word with a count is shown",
        "    if len(value) > LONGEST_ORDINARY:\n",
        "    if True:\n",
        f"{_FORMS}::test_an_ordinary_text_is_shown_as_it_is",
    ),
    Rule(
        "a key of a service is known by its form",
        "    secret_forms.keys,\n",
        "",
        f"{_FORMS}::test_a_key_is_known_by_its_form",
    ),
    Rule(
        "what is nested too deeply fails nothing",
        "        if not deeper and isinstance(value, Mapping | list | tuple):\n            return TOO_DEEP\n",
        "",
        f"{_REDACTION}::test_what_is_nested_deeply_hides_what_is_named_and_fails_nothing",
    ),
    Rule(
        "a page of a value that is nested too deeply is shown",
        "    except RecursionError:\n        return value\n",
        "    except ZeroDivisionError:\n        return value\n",
        "tests/dashboard/test_deep_values.py::test_no_page_and_no_list_fails_for_a_deep_value",
    ),
    Rule(
        "an address is masked in linear time",
        'r"[?&]([^=&#?]*+)="',
        'r"[?&]([^=&#]*)="',
        "tests/config/test_url.py::test_twice_as_long_a_url_takes_twice_as_long",
    ),
    Rule(
        "a long text is cut before it is looked through",
        "        if len(text) > LONGEST:\n",
        "        if False:\n",
        f"{_REDACTION}::test_of_a_long_text_the_beginning_is_shown_and_the_rest_is_counted",
    ),
    Rule(
        "the value of a header is hidden to its end",
        "        end = _end_of_line(text, start, found.around)\n",
        "        end = _end_of_word(text, start)\n",
        f"{_REDACTION}::test_a_text_hides_what_is_named",
    ),
    Rule(
        "what stands in the name of a field is hidden as well",
        "key = self._key(name)\n",
        "key = name\n",
        f"{_REDACTION}::test_a_text_hides_what_is_named",
    ),
    Rule(
        "a document that has a name twice is read as a text",
        ", object_pairs_hook=_without_doubles",
        "",
        f"{_REDACTION}::test_a_text_hides_what_is_named",
    ),
    Rule(
        "a search finds no hidden value",
        ", shown=self.redaction.value",
        "",
        f"{_REDACTION}::test_a_search_finds_no_secret",
    ),
    Rule(
        "a change of many tasks finds none by a hidden value",
        ", self.access.redaction.value",
        "",
        f"{_REDACTION}::test_a_search_finds_no_secret",
    ),
    Rule(
        "a request that names its end in two ways is refused",
        "            _two_ends(scope, headers)\n            or self._wrong_place",
        "            self._wrong_place",
        f"{_LIVE}::test_a_request_whose_end_two_headers_name_is_refused",
    ),
    Rule(
        "a log out ends the session in all processes",
        "            await self.visitors.open.end(visitor)\n",
        "            pass\n",
        f"{_ACCESS}::test_a_copied_cookie_counts_no_more_after_the_logout_in_any_process",
    ),
    Rule(
        "a stream ends with its session",
        "return self._of_cookie(scope) == visitor and await self.open.has(visitor)",
        "return self._of_cookie(scope) == visitor",
        f"{_LIVE}::test_a_stream_ends_soon_after_its_user_has_logged_out",
    ),
    Rule(
        "a session that the store does not have counts nowhere",
        "return visitor if visitor and await self.open.has(visitor) else None",
        "return visitor",
        f"{_ACCESS}::test_a_session_that_the_store_does_not_have_counts_nowhere",
    ),
    Rule(
        "a request in chunks is the last of its connection",
        'is_last = "transfer-encoding" in headers',
        "is_last = False",
        f"{_BROKEN}::test_a_request_in_chunks_is_the_last_of_its_connection",
    ),
    Rule(
        "a request that is cut off is no error of the process",
        "with suppress(ClientDisconnect):",
        "with suppress():",
        f"{_BROKEN}::test_no_request_of_a_stranger_is_an_error_of_the_process",
    ),
    Rule(
        "a request that is broken behind its answer is no error of the process",
        "if self.conn.our_state in _NOT_ANSWERED:",
        "if True:",
        f"{_BROKEN}::test_a_request_that_breaks_within_its_answer_ends_it",
    ),
    Rule(
        "what runs for a request that is broken is told so",
        "            self.cycle.disconnected = True\n            self.cycle.message_event.set()\n",
        "            pass\n",
        f"{_BROKEN}::test_no_request_of_a_stranger_is_an_error_of_the_process",
    ),
    Rule(
        "a change needs the secret of its session's forms",
        "    if visitor.needs_secret and not hmac.compare_digest(given.encode(), visitor.csrf.encode()):\n"
        '        raise HTTPException(403, "this form is of another session: load the page again")\n',
        "",
        f"{_ACCESS}::test_the_secret_of_another_session_does_not_count",
    ),
    Rule(
        "a viewer changes nothing",
        "    if not visitor.may_change:\n"
        '        raise HTTPException(403, "a viewer may change nothing: log in as an operator")\n',
        "",
        f"{_ACCESS}::test_a_viewer_reads_and_changes_nothing",
    ),
    Rule(
        "a page needs a login",
        'if scope["visitor"] is None and not scope["path"].startswith(PUBLIC):',
        "if False:",
        f"{_ACCESS}::test_without_a_login_each_page_leads_to_it_and_each_change_is_refused",
    ),
    Rule(
        "pages are served under known names alone",
        "if self.hosts.allows(host):",
        "if True:",
        f"{_ACCESS}::test_another_name_of_this_host_is_not_served",
    ),
    Rule(
        "another site cannot ask for a change",
        'if scope["method"] not in SAFE and self._is',
        "if False and self._is",
        f"{_ACCESS}::test_a_change_that_another_site_asks_for_is_refused",
    ),
    Rule(
        "wrong tokens cost a wait",
        "            self.attempts.failed(address, now, name)\n",
        "            pass\n",
        f"{_ACCESS}::test_wrong_tokens_cost_a_wait",
    ),
    Rule(
        "a login leads to a page of this site",
        'return there if there.startswith("/") and not there.startswith(("//", "/\\\\")) else "/"',
        "return there",
        f"{_ACCESS}::test_a_login_goes_on_to_the_page_that_was_asked_for_and_nowhere_else",
    ),
    Rule(
        "what users have written is escaped",
        "autoescape=True",
        "autoescape=False",
        f"{_PAGES}::test_no_text_of_a_user_becomes_markup",
    ),
    Rule(
        "a change that was refused is written down, too",
        "        asked.refusal = why(error)\n        await asked.write()\n",
        "",
        f"{_REFUSED}::test_a_viewer_who_sends_a_form",
    ),
    Rule(
        "what another site asks for is written down",
        "            await _note(scope, text)\n",
        "",
        f"{_REFUSED}::test_what_another_site_asks_for",
    ),
    Rule(
        "who is refused again and again drives out no other",
        "        if count > MOST_REFUSALS:\n",
        "        if False:\n",
        f"{_REFUSED}::test_who_is_refused_again_and_again_drives_out_no_other",
    ),
    Rule(
        "a stream counts from the moment at which it is asked for",
        '    over = streams.begin(request)\n    try:\n        first = await anext(messages, b"")\n',
        "    over = asyncio.get_running_loop().create_future()\n"
        '    try:\n        first = await anext(messages, b"")\n        over = streams.begin(request)\n',
        "tests/a2a/test_stream_access.py::test_streams_of_the_agent_count_with_the_others_and_the_message_of_a_refused_one_"
        "makes_no_task",
    ),
    Rule(
        "limits that are refused give their form again",
        "            if change.again is None:\n                raise\n",
        "            raise\n",
        "tests/dashboard/test_lanes_page.py::test_a_limit_that_is_not_one_gives_the_form_again_with_what_was_typed",
    ),
    Rule(
        "stacks of before are not shown with those of now",
        "        os.truncate(path, 0)\n",
        "",
        "tests/dashboard/test_workers_page.py::test_the_supervisor_of_this_host_writes_stacks_and_scales",
    ),
    Rule(
        "only the supervisor of this queue is ordered about",
        "if status is not None and self._serves_the_queue(status):",
        "if status is not None:",
        "tests/dashboard/test_workers_page.py::test_a_supervisor_of_another_queue_is_left_alone",
    ),
    Rule(
        "a secret that a form hides stays as it is stored",
        "    if typed == shown:\n        return stored\n",
        "",
        "tests/dashboard/test_schedules_page.py"
        "::test_an_edit_keeps_what_the_form_did_not_change_and_a_new_one_overwrites_none",
    ),
    Rule(
        "an order to a host that nobody knows is refused",
        '    if not create:\n        check_known("host"',
        '    if False:\n        check_known("host"',
        "tests/operations/test_faces.py::test_an_act_is_the_same_through_each_face",
    ),
    Rule(
        "a change of a task that has ended is refused",
        "    if state not in wanted:\n",
        "    if False:\n",
        "tests/operations/test_tasks.py::test_an_act_on_a_task_is_the_same_through_each_face",
    ),
    Rule(
        "an empty message is refused",
        "if given.text is not None and not given.text.strip():",
        "if False:",
        "tests/operations/test_tasks.py::test_an_act_on_a_task_is_the_same_through_each_face",
    ),
    Rule(
        "a message may say none",
        'Text = Annotated[str | None, Meta(description="Message for the task: an answer or further input.")]',
        'Text = Annotated[str, Meta(description="Message for the task: an answer or further input.")] | None',
        "tests/operations/test_tasks.py::test_an_act_on_a_task_is_the_same_through_each_face",
    ),
    Rule(
        "the name none is that of a handler, and not all dead letters",
        'Name = Annotated[str | None, Meta(description="Only tasks of the handler with this name.")]',
        'Name = Annotated[str, Meta(description="Only tasks of the handler with this name.")] | None',
        "tests/operations/test_tasks.py::test_all_dead_letters_that_run_again_are_one_change",
    ),
    Rule(
        "a new schedule overwrites none",
        "if given.is_new and await doing.call(doing.store.schedule, name) is not None:",
        "if False:",
        "tests/dashboard/test_schedules_page.py"
        "::test_an_edit_keeps_what_the_form_did_not_change_and_a_new_one_overwrites_none",
    ),
    Rule(
        "bytes of unreadable entries are escaped",
        'escape(content.decode("utf-8", "backslashreplace"), keep="\\n")',
        'content.decode("utf-8", "backslashreplace")',
        "tests/dashboard/test_set_aside_pages.py::test_unreadable_entries_show_their_bytes_and_go_back_or_away",
    ),
    Rule(
        "a client that never reads loses its connection",
        "self._stall = self._stall or self.loop.call_later(self.read_within, self.transport.abort)",
        "pass",
        f"{_LIVE}::test_a_client_that_never_reads_loses_its_connection_and_holds_up_nobody",
    ),
    Rule(
        "a request that comes slowly loses its connection",
        "        self._request = self.loop.call_later(self.request_within, self.transport.abort)\n",
        "        self._request = self.loop.call_later(1e6, self.transport.abort)\n",
        f"{_LIVE}::test_a_request_that_comes_slowly_loses_its_connection",
    ),
    Rule(
        "half requests are bounded by address",
        "        if not share.is_many and len(share.half) > self.most_half:\n",
        "        if False:\n",
        f"{_OPEN_TESTS}::test_half_requests_of_one_address_keep_nobody_out",
    ),
    Rule(
        "connections count from their accept, before a handshake of TLS",
        "        self.number += 1\n        self.half(connection)\n",
        "        self.number += 1\n",
        f"{_OPEN_TESTS}::test_half_handshakes_of_one_address_keep_nobody_out",
    ),
    Rule(
        "all connections are bounded by the files that the process may open",
        "        while self.number >= self.most:\n",
        "        while False:\n",
        f"{_OPEN_TESTS}::test_connections_of_many_addresses_keep_nobody_out",
    ),
    Rule(
        "a request that is being answered gives way to nobody",
        "        self._become(connection, None)\n\n    def over(",
        "        pass\n\n    def over(",
        f"{_OPEN_TESTS}::test_who_gives_way_when_all_places_are_taken",
    ),
    Rule(
        "who reads no answer gives way",
        "        if self._request is None:\n            self._places.idle(self._place)\n",
        "",
        f"{_OPEN_TESTS}::test_clients_that_read_no_answer_keep_nobody_out",
    ),
    Rule(
        "a process without descriptors makes room for who connects",
        "        self._connections.give_way()\n",
        "        pass\n",
        f"{_OPEN_TESTS}::test_a_process_without_descriptors_makes_room_and_goes_on",
    ),
    Rule(
        "a stream of a session ends with the role of its user",
        "self._of_cookie(scope) == visitor and",
        "self._of_cookie(scope) is not None and",
        f"{_LIVE}::test_a_stream_of_a_browser_ends_soon_after_its_user_has_another_role",
    ),
    Rule(
        "a stream through the proxy ends with the role of its user",
        " and self.sessions.through_proxy(account) == visitor",
        "",
        f"{_LIVE}::test_a_stream_of_a_browser_ends_soon_after_its_user_has_another_role",
    ),
    Rule(
        "what is open ends with its login also while nothing happens",
        "for each in () if counts else streams:",
        "for each in ():",
        f"{_LIVE}::test_what_is_open_ends_soon_after_its_login_also_while_nothing_happens",
    ),
    Rule(
        "a request that waits for a task counts as a stream",
        "    over = streams.begin(request)\n    gone =",
        "    over = asyncio.get_running_loop().create_future()\n    gone =",
        "tests/a2a/test_stream_access.py::test_who_waits_for_a_task_holds_a_place_as_a_stream_does",
    ),
    Rule(
        "a call of the agent that is refused before its method is known is listed",
        "async with noted(request, UNKNOWN) as asked:",
        'async with noted(request, "") as asked:',
        "tests/dashboard/test_refused_changes.py::test_a_call_of_the_agent_that_is_refused_before_its_method_is_known",
    ),
    Rule(
        "a message for which too many streams are open is listed",
        "async with noted(request, call.change, call.about):\n                    raise",
        "if True:\n                    raise",
        "tests/dashboard/test_refused_changes.py::test_a_message_for_which_too_many_streams_are_open",
    ),
    Rule(
        "clients of IPv4 are told apart on a socket of IPv6",
        "(found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found",
        "found",
        f"{_ACCOUNTS}::test_clients_of_ipv4_that_a_socket_of_ipv6_takes_are_told_apart",
    ),
    Rule(
        "a login ends the session that the browser had",
        "            await self._end_earlier(request)\n",
        "",
        f"{_ACCESS}::test_a_login_ends_the_session_that_the_browser_had",
    ),
    Rule(
        "a change that comes whole after the logout changes nothing",
        "        await check_login_counts(request)\n    return bytes(body)",
        "        pass\n    return bytes(body)",
        f"{_ACCESS}::test_a_change_that_comes_whole_after_the_logout_changes_nothing",
    ),
    Rule(
        "a users file that was written over with its time is read again",
        "found.st_ctime_ns, ",
        "",
        f"{_ACCOUNTS}::test_a_users_file_with_the_size_and_time_of_before_is_read_again",
    ),
    Rule(
        "an error of the agent shows no secret of a damaged record",
        "queue_of(request).redaction.text(known.message)",
        "known.message",
        "tests/dashboard/test_redaction.py::test_an_error_that_quotes_a_damaged_record_shows_no_secret_of_it",
    ),
    Rule(
        "sessions of one user are bounded",
        "if surplus := own[:-MOST_OF_ONE]:",
        "if surplus := own[:0]:",
        f"{_ACCESS}::test_who_logs_in_again_and_again_fills_no_store_and_ends_no_session_of_others",
    ),
    Rule(
        "streams of events are bounded",
        "if len(self.open) >= self.most:",
        "if False:",
        f"{_LIVE}::test_streams_are_bounded",
    ),
    Rule(
        "one that reads slowly is told what it has missed",
        "if number < first:",
        "if False:",
        f"{_LIVE}::test_one_that_reads_slowly_is_told_how_many_events_it_has_missed",
    ),
    Rule(
        "the position of an entry comes with the last of its events",
        "one.position != other.position for",
        "True for",
        f"{_LIVE}::test_an_entry_of_several_tasks_has_its_position_at_its_end",
    ),
    Rule(
        "secrets in events are hidden",
        '"detail": self.shown(event.detail),',
        '"detail": event.detail,',
        f"{_LIVE}::test_secrets_in_events_are_hidden",
    ),
    Rule(
        "without a listener the events are not read",
        "unused = 0.0 if self._listening else unused + every",
        "unused = 0.0",
        f"{_LIVE}::test_without_a_listener_nothing_is_read",
    ),
    Rule(
        "the service goes on without a web process",
        "frozenset({ChildKind.QUARANTINE, ChildKind.WEB})",
        "frozenset({ChildKind.QUARANTINE})",
        "tests/dashboard/test_process.py::test_a_web_process_that_never_starts_ends_nothing",
    ),
    Rule(
        "a page hides the secrets of payloads",
        "shown[key] = HIDDEN if is_hidden else",
        "shown[key] =",
        "tests/dashboard/test_redaction.py::test_pages_show_no_secret_of_a_task",
    ),
    Rule(
        "a default of a secret argument is hidden",
        "{name: HIDDEN if name in _EXAMPLES else each for name, each in shown.items()}",
        "shown",
        f"{_API}::test_handlers_have_the_schema_of_their_arguments_without_secrets",
    ),
    Rule(
        "reports that are kept are bounded",
        "while len(self._kept) > MOST:",
        "while False:",
        "tests/dashboard/test_period_reports.py::test_of_one_handler_there_are_its_figures_alone",
    ),
    Rule(
        "the payloads of a page are bounded",
        "return text if is_whole else text[:PAYLOAD]",
        "return text",
        f"{_TASK}::test_a_large_result_is_bounded_unless_all_is_asked_for",
    ),
    Rule(
        "a viewer changes nothing over the API",
        "                    check_may_change(visitor)\n",
        "",
        f"{_API}::test_a_viewer_changes_nothing_over_the_api",
    ),
    Rule(
        "a change over the API by a browser's session needs its secret",
        '                    check_secret(visitor, request.headers.get(CSRF, ""))\n',
        "",
        f"{_API}::test_a_session_needs_its_secret_for_changes",
    ),
    Rule(
        "a change over the API is written down",
        'noted(request, operation.change, "/".join(path.values()))',
        'noted(request, "", "/".join(path.values()))',
        f"{_API}::test_each_change_is_written_down_with_name_and_address",
    ),
    Rule(
        "an answer of the API hides the secrets of payloads",
        "        shown = self.access.redaction.value(answer)\n",
        "        shown = answer\n",
        f"{_API}::test_secrets_of_payloads_and_errors_are_hidden",
    ),
    Rule(
        "other content under the id of a task is no message for it",
        "    return msgspec.structs.replace(spec, message_id=first_message_id(spec.task_id))\n",
        "    return spec\n",
        f"{_API}::test_a_task_is_submitted_once_however_often_it_is_sent",
    ),
    Rule(
        "a value in the path may hold a slash",
        'raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()',
        'raw: bytes = request.scope["path"].encode()',
        f"{_API}::test_lanes_are_named_by_any_text_in_the_path",
    ),
    Rule(
        "a body is read no further than its bound",
        "        if len(body) > most:\n"
        '            raise HTTPException(413, f"the body is larger than {most} bytes", '
        '{"connection": "close"})\n',
        "",
        f"{_API}::test_a_body_is_bounded_and_json",
    ),
    Rule(
        "a session ends with the password of its user",
        'if account is None or not hmac.compare_digest(str(mark).encode(), self._mark("session", account).encode()):',
        "if account is None:",
        f"{_ACCOUNTS}::test_a_session_ends_with_its_user_or_password_and_has_the_role_of_now",
    ),
    Rule(
        "a user without a password has no login of their own",
        "written) or written is _NOBODY:",
        "written) and user and user.hash:",
        f"{_ACCOUNTS}::test_a_wrong_login_is_refused",
    ),
    Rule(
        "others may not read the passwords",
        "if mode & (stat.S_IRWXO | stat.S_IWGRP):",
        "if False:",
        f"{_ACCOUNTS}::test_a_users_file_that_others_reach_is_refused",
    ),
    Rule(
        "guesses at once count for each other",
        "        async with turn:\n            return",
        "        if True:\n            return",
        f"{_ACCOUNTS}::test_guesses_at_once_count_for_each_other",
    ),
    Rule(
        "a user of the proxy is taken for no token",
        "        if name in RESERVED:\n",
        "        if False:\n",
        f"{_ACCOUNTS}::test_a_user_of_the_proxy_cannot_be_taken_for_a_token",
    ),
    Rule(
        "a stream ends when the password of its login changes",
        " and self.sessions.with_header(account) == visitor\n",
        "\n",
        f"{_LIVE}::test_a_stream_ends_soon_after_a_change_of_its_login",
    ),
    Rule(
        "a stream ends with the login that opened it",
        "                    if not await self._may_read():\n",
        "                    if False:\n",
        f"{_LIVE}::test_a_stream_ends_soon_after_its_user_is_removed",
    ),
    Rule(
        "a certificate that cannot serve is refused at the start",
        "    if why_not := _tls_refusal(settings):\n",
        '    if why_not := "":\n',
        "tests/dashboard/test_process.py::test_tls_that_cannot_be_is_refused_in_one_line",
    ),
    Rule(
        "the dashboard tells of a database that is away",
        "        if settings.postgres is not None:\n",
        "        if False:\n",
        "tests/postgres/test_keeping.py::test_the_problems_of_now_name_a_database_that_is_away",
    ),
    Rule(
        "the supervisor of this host is scaled for no other",
        '    if asked.subject not in {"", here := socket.gethostname()}:\n',
        "    if asked.subject in {here := socket.gethostname()}:\n",
        "tests/dashboard/test_workers_page.py::test_workers_of_another_host_have_the_commands_to_type",
    ),
    Rule(
        "a change of many tasks counts those that only PostgreSQL has",
        "None if access.settings.postgres else (await",
        "(await",
        "tests/postgres/test_keeping.py::test_a_change_of_many_tasks_counts_those_that_only_the_ledger_remembers",
    ),
    Rule(
        "the header of a proxy counts from its address alone",
        "return peer_address(address) in self.network\n",
        "return True\n",
        f"{_ACCOUNTS}::test_the_header_of_anybody_else_does_not_count",
    ),
    Rule(
        "behind a proxy changes need the secret of their forms",
        "return self.login is not Login.HEADER",
        "return self.login is Login.COOKIE",
        f"{_ACCOUNTS}::test_the_proxy_names_the_user_who_has_the_role_of_the_file",
    ),
    Rule(
        "without its header a proxy gets nothing",
        'if visitor is None and not scope["path"].startswith(OPEN):',
        "if False:",
        f"{_ACCOUNTS}::test_without_its_header_the_proxy_gets_nothing_but_with_a_token",
    ),
    Rule(
        "guesses lock nobody out of a place that they have logged in from",
        "if (place, account) not in self._known:",
        "if True:",
        f"{_ACCOUNTS}::test_guesses_from_everywhere_slow_down_new_places_alone",
    ),
    Rule(
        "a task offers the changes that its state allows",
        "[action for action in ACTIONS if action.is_allowed(task)]",
        "list(ACTIONS)",
        f"{_TASK}::test_a_paused_task_can_be_resumed_and_a_retried_one_is_not_retried_again",
    ),
    Rule(
        "what was typed is held against the schema of the handler",
        "    if handler.arguments is not None and not problems:\n",
        "    if False:\n",
        f"{_SUBMIT}::test_what_is_wrong_is_said_beside_the_typed_text_and_nothing_is_submitted",
    ),
    Rule(
        "a form comes back as it was typed",
        "arguments=as_typed(self.arguments, typed, problems),",
        "arguments=self.arguments,",
        f"{_SUBMIT}::test_what_is_wrong_is_said_beside_the_typed_text_and_nothing_is_submitted",
    ),
    Rule(
        "a form that edits a task does not show what is hidden",
        "_hidden(call, access)",
        "call",
        f"{_SUBMIT}::test_a_hidden_value_is_not_in_the_form_and_stays_as_it_was",
    ),
    Rule(
        "a hidden value of an edited task stays as it was",
        "        kwargs = restored(kwargs)\n",
        "        pass\n",
        f"{_SUBMIT}::test_a_hidden_value_is_not_in_the_form_and_stays_as_it_was",
    ),
    Rule(
        "a form sent twice is one task",
        'task_id = typed.get(TASK_ID, "")',
        "task_id = str(id(typed))",
        f"{_SUBMIT}::test_a_form_that_is_sent_twice_is_one_task",
    ),
    Rule(
        "a form under the id of another task is no message for it",
        "        message_id=first_message_id(task_id),  # other content is a conflict\n",
        "",
        f"{_SUBMIT}::test_a_form_under_the_id_of_another_task_is_refused",
    ),
    Rule(
        "the activity names the task that was edited",
        "asked.subject, asked.related = form.last(change.field), form.last(change.related)",
        "asked.subject = form.last(change.field)",
        f"{_SUBMIT}::test_an_edited_task_is_a_new_one_and_both_are_linked",
    ),
    Rule(
        "a message that is sent twice is one",
        "data=given.data, message_id=given.message_id)",
        "data=given.data)",
        f"{_TASK}::test_a_message_has_the_id_of_its_form",
    ),
    Rule(
        "the history of a page is bounded",
        "timeline if is_whole else timeline[-SHOWN:]",
        "timeline",
        f"{_TASK}::test_a_long_history_is_bounded_unless_all_is_asked_for",
    ),
    Rule(
        "a bulk change leaves tasks alone that came after its beginning",
        "older_ms=(wanted.older_ms or 0) + gone",
        "older_ms=wanted.older_ms",
        f"{_BULK}::test_tasks_that_come_later_are_left_alone",
    ),
    Rule(
        "a bulk change looks again until a pass changes nothing",
        "is_proof = not self.changed_in_pass and not (has_steps and self.pass_number == 1)",
        "is_proof = True",
        f"{_BULK_STEPS}::test_what_moves_behind_the_cursor_is_changed_by_the_next_pass",
    ),
    Rule(
        "a first pass of several steps is no proof that nothing moved",
        " and not (has_steps and self.pass_number == 1)",
        "",
        f"{_BULK_STEPS}::test_a_first_pass_of_several_steps_that_changes_nothing_is_no_proof",
    ),
    Rule(
        "the passes of a bulk change are bounded",
        "is_proof or self.pass_number == PASSES",
        "is_proof",
        f"{_BULK_STEPS}::test_passes_are_bounded_and_count_each_task_once",
    ),
    Rule(
        "a later pass of a bulk change counts no refusal again",
        "changed_in_pass=0, refused=0)",
        "changed_in_pass=0)",
        f"{_BULK_STEPS}::test_passes_are_bounded_and_count_each_task_once",
    ),
    Rule(
        "a bulk change leaves alone what is accepted while its step is on its way",
        "task.created_ms <= self.begun_ms - (self.wanted.older_ms or 0) and ",
        "",
        f"{_BULK_STEPS}::test_what_is_accepted_while_a_step_is_on_its_way_is_left_alone",
    ),
    Rule(
        "a bulk change names itself when it retries a task",
        "change.task_reason, change.change_id)",
        'change.task_reason, "")',
        f"{_BULK_STEPS}::test_a_delayed_task_is_made_due_once_by_a_change",
    ),
    Rule(
        "a bulk change tells what had left its filter",
        'return _Came.MOVED if word == "unknown" or word in tuple(State) else _Came.REFUSED',
        "return _Came.REFUSED",
        f"{_BULK_STEPS}::test_what_has_left_the_filter_when_its_turn_comes_is_told",
    ),
    Rule(
        "a bulk change that goes on looks once more",
        ', "changed_in_pass": 1}',
        "}",
        f"{_BULK_STEPS}::test_who_goes_on_looks_once_more",
    ),
    Rule(
        "a bulk change goes by the clock that accepts tasks",
        (
            '        """By the clock that dates acceptance: a change only touches tasks accepted before it began."""\n'
            '        return await self._number("now")'
        ),
        (
            '        """By the clock that dates acceptance: a change only touches tasks accepted before it began."""\n'
            '        return int((await self._command("TIME"))[0]) * 1000'
        ),
        f"{_BULK_STEPS}::test_what_is_accepted_while_a_step_is_on_its_way_is_left_alone",
    ),
    Rule(
        "a bulk change that was stopped ends",
        " and state == BulkState.RUNNING.encode()",
        "",
        f"{_BULK}::test_a_change_is_stopped_and_goes_on_from_where_it_was",
    ),
    Rule(
        "one run carries out a bulk change",
        'if run != b"%d" % after.run:',
        "if False:",
        "tests/conformance/test_bulk_changes.py::test_a_stop_is_not_overwritten_and_the_next_run_alone_writes",
    ),
    Rule(
        "a bulk change whose process is gone says so",
        "return BulkState.INTERRUPTED if is_silent else self.state",
        "return self.state",
        f"{_BULK}::test_a_change_whose_process_is_gone_says_so",
    ),
    Rule(
        "what was retried before is not retried by a bulk change",
        "            return _Came.NEITHER\n",
        "            return _Came.CHANGED\n",
        f"{_BULK_STEPS}::test_a_retry_that_fails_is_not_retried_by_the_change_that_made_it",
    ),
    Rule(
        "a viewer sees no page that asks for a bulk change",
        "    check_may_change(visitor_of(request))\n",
        "",
        f"{_BULK}::test_a_viewer_begins_stops_and_chooses_nothing",
    ),
    Rule(
        "what was refused of chosen tasks is written down",
        '        asked.refusal = f"{len(refused)} refused: {\'; \'.join(refused)}" if refused else ""\n',
        "",
        f"{_BULK}::test_chosen_tasks_are_changed_and_refusals_are_told",
    ),
    Rule(
        "a search finds no task by the markup of its operation",
        "            yield from self._in_operation(task.operation)",
        '            yield task.operation.decode("utf-8", "replace")',
        "tests/conformance/test_searching.py::test_a_text_is_found_where_users_wrote_it_and_nowhere_else",
    ),
    Rule(
        "the OpenAPI document names the items of each list",
        '        schema.setdefault("items", {})\n',
        "        pass\n",
        "tests/dashboard/test_openapi.py::test_only_values_of_users_are_any",
    ),
    Rule(
        "an error of the API that nobody has foreseen is a problem document",
        "    return problem(500, text) if request.url.path.startswith(API) else",
        "    return",
        f"{_API}::test_an_error_that_nobody_has_foreseen_is_a_problem_document_too",
    ),
)
