"""Rules of the dashboard."""

from __future__ import annotations

from tests.rules.rule import Rule

_HERE = "supervisor/holdfastd/web"
_ACCESS = "tests/dashboard/test_access.py"
_ACCOUNTS = "tests/dashboard/test_accounts.py"
_PAGES = "tests/dashboard/test_pages.py"
_API = "tests/dashboard/test_api.py"
_TASK = "tests/dashboard/test_task_page.py"
_SUBMIT = "tests/dashboard/test_submit_form.py"

DASHBOARD = (
    Rule(
        "a change needs the secret of its session's forms",
        f"{_HERE}/forms.py",
        "    if visitor.needs_secret and not hmac.compare_digest(given.encode(), visitor.csrf.encode()):\n"
        '        raise HTTPException(403, "this form is of another session: load the page again")\n',
        "",
        f"{_ACCESS}::test_the_secret_of_another_session_does_not_count",
    ),
    Rule(
        "a viewer changes nothing",
        f"{_HERE}/forms.py",
        "    if not visitor.may_change:\n"
        '        raise HTTPException(403, "a viewer may change nothing: log in as an operator")\n',
        "",
        f"{_ACCESS}::test_a_viewer_reads_and_changes_nothing",
    ),
    Rule(
        "a page needs a login",
        f"{_HERE}/access/guard.py",
        'if scope["visitor"] is None and not scope["path"].startswith(PUBLIC):',
        "if False:",
        f"{_ACCESS}::test_without_a_login_each_page_leads_to_it_and_each_change_is_refused",
    ),
    Rule(
        "pages are served under known names alone",
        f"{_HERE}/access/guard.py",
        "if self.hosts.allows(host):",
        "if True:",
        f"{_ACCESS}::test_another_name_of_this_host_is_not_served",
    ),
    Rule(
        "another site cannot ask for a change",
        f"{_HERE}/access/guard.py",
        'if scope["method"] not in SAFE and self._is',
        "if False and self._is",
        f"{_ACCESS}::test_a_change_that_another_site_asks_for_is_refused",
    ),
    Rule(
        "wrong tokens cost a wait",
        f"{_HERE}/access/visitors.py",
        "            self.attempts.failed(address, now, name)\n",
        "            pass\n",
        f"{_ACCESS}::test_wrong_tokens_cost_a_wait",
    ),
    Rule(
        "a login leads to a page of this site",
        f"{_HERE}/pages/login.py",
        'return there if there.startswith("/") and not there.startswith(("//", "/\\\\")) else "/"',
        "return there",
        f"{_ACCESS}::test_a_login_goes_on_to_the_page_that_was_asked_for_and_nowhere_else",
    ),
    Rule(
        "what users have written is escaped",
        f"{_HERE}/rendering.py",
        "autoescape=True",
        "autoescape=False",
        f"{_PAGES}::test_no_text_of_a_user_becomes_markup",
    ),
    Rule(
        "a change that was refused is written down, too",
        f"{_HERE}/changes/carry_out.py",
        "            await note(access, replace(activity, outcome=str(error)))\n",
        "",
        f"{_PAGES}::test_activity_names_who_changed_what_from_where_and_what_was_refused",
    ),
    Rule(
        "limits that are refused give their form again",
        f"{_HERE}/changes/carry_out.py",
        "            if change.again is None:\n                raise\n",
        "            raise\n",
        "tests/dashboard/test_lanes_page.py::test_a_limit_that_is_not_one_gives_the_form_again_with_what_was_typed",
    ),
    Rule(
        "stacks of before are not shown with those of now",
        f"{_HERE}/local_supervisor.py",
        "        os.truncate(path, 0)\n",
        "",
        "tests/dashboard/test_workers_page.py::test_the_supervisor_of_this_host_writes_stacks_and_scales",
    ),
    Rule(
        "only the supervisor of this queue is ordered about",
        f"{_HERE}/local_supervisor.py",
        "if status is not None and self._serves_the_queue(status):",
        "if status is not None:",
        "tests/dashboard/test_workers_page.py::test_a_supervisor_of_another_queue_is_left_alone",
    ),
    Rule(
        "a secret that a form hides stays as it is stored",
        f"{_HERE}/views/schedule_form.py",
        "    if typed == shown and shown is not None:\n        return stored\n",
        "",
        "tests/dashboard/test_schedules_page.py"
        "::test_an_edit_keeps_what_the_form_did_not_change_and_a_new_one_overwrites_none",
    ),
    Rule(
        "a new schedule overwrites none",
        f"{_HERE}/changes/schedule_changes.py",
        'if record is not None and not asked.fields.get("known"):',
        "if False:",
        "tests/dashboard/test_schedules_page.py"
        "::test_an_edit_keeps_what_the_form_did_not_change_and_a_new_one_overwrites_none",
    ),
    Rule(
        "bytes of unreadable entries are escaped",
        f"{_HERE}/rendering.py",
        'escape(content.decode("utf-8", "backslashreplace"), keep="\\n")',
        'content.decode("utf-8", "backslashreplace")',
        "tests/dashboard/test_set_aside_pages.py::test_unreadable_entries_show_their_bytes_and_go_back_or_away",
    ),
    Rule(
        "the service goes on without a web process",
        "supervisor/holdfastd/core/boot_failures.py",
        "frozenset({ChildKind.QUARANTINE, ChildKind.WEB})",
        "frozenset({ChildKind.QUARANTINE})",
        "tests/dashboard/test_process.py::test_a_web_process_that_never_starts_ends_nothing",
    ),
    Rule(
        "a page hides the secrets of payloads",
        f"{_HERE}/redaction.py",
        "HIDDEN if self.hides(name) and each is not None else self.value(each)",
        "self.value(each)",
        "tests/dashboard/test_redaction.py::test_pages_show_no_secret_of_a_task",
    ),
    Rule(
        "a viewer changes nothing over the API",
        f"{_HERE}/api/endpoint.py",
        "            check_may_change(visitor)\n",
        "",
        f"{_API}::test_a_viewer_changes_nothing_over_the_api",
    ),
    Rule(
        "a change over the API by a browser's session needs its secret",
        f"{_HERE}/api/endpoint.py",
        '            check_secret(visitor, request.headers.get(CSRF, ""))\n',
        "",
        f"{_API}::test_a_session_needs_its_secret_for_changes",
    ),
    Rule(
        "a change over the API is written down",
        f"{_HERE}/api/endpoint.py",
        "        await self._note(replace(asked, subject=call.subject))\n",
        "",
        f"{_API}::test_each_change_is_written_down_with_name_and_address",
    ),
    Rule(
        "a change over the API that was refused is written down, too",
        f"{_HERE}/api/endpoint.py",
        "            await self._note(replace(asked, subject=call.subject, outcome=str(error)))\n",
        "",
        f"{_API}::test_each_change_is_written_down_with_name_and_address",
    ),
    Rule(
        "an answer of the API hides the secrets of payloads",
        f"{_HERE}/api/endpoint.py",
        "        shown = self.access.redaction.value(answer)\n",
        "        shown = answer\n",
        f"{_API}::test_secrets_of_payloads_and_errors_are_hidden",
    ),
    Rule(
        "other content under the id of a task is no message for it",
        f"{_HERE}/api/intake.py",
        "    return msgspec.structs.replace(spec, message_id=derived_message_id(spec.task_id, FIRST))\n",
        "    return spec\n",
        f"{_API}::test_a_task_is_submitted_once_however_often_it_is_sent",
    ),
    Rule(
        "a value in the path may hold a slash",
        f"{_HERE}/api/request_body.py",
        'raw: bytes = request.scope.get("raw_path") or request.scope["path"].encode()',
        'raw: bytes = request.scope["path"].encode()',
        f"{_API}::test_lanes_are_named_by_any_text_in_the_path",
    ),
    Rule(
        "a body is read no further than its bound",
        f"{_HERE}/forms.py",
        "        if len(body) > most:\n"
        '            raise HTTPException(413, f"the body is larger than {most} bytes", '
        '{"connection": "close"})\n',
        "",
        f"{_API}::test_a_body_is_bounded_and_json",
    ),
    Rule(
        "a session ends with the password of its user",
        f"{_HERE}/access/session_cookie.py",
        'if account is None or not hmac.compare_digest(str(mark).encode(), self._mark("session", account).encode()):',
        "if account is None:",
        f"{_ACCOUNTS}::test_a_session_ends_with_its_user_or_password_and_has_the_role_of_now",
    ),
    Rule(
        "a user without a password has no login of their own",
        f"{_HERE}/access/accounts.py",
        "written) or written is _NOBODY:",
        "written) and user and user.hash:",
        f"{_ACCOUNTS}::test_a_wrong_login_is_refused",
    ),
    Rule(
        "others may not read the passwords",
        "config/holdfast_config/web_users.py",
        "if stat.S_ISREG(mode) and mode & (stat.S_IRWXO | stat.S_IWGRP):",
        "if False:",
        f"{_ACCOUNTS}::test_a_users_file_that_others_reach_is_refused",
    ),
    Rule(
        "the header of a proxy counts from its address alone",
        "config/holdfast_config/trusted_proxy.py",
        "        return found in self.network\n",
        "        return True\n",
        f"{_ACCOUNTS}::test_the_header_of_anybody_else_does_not_count",
    ),
    Rule(
        "behind a proxy changes need the secret of their forms",
        f"{_HERE}/access/visitor.py",
        "return self.login is not Login.HEADER",
        "return self.login is Login.COOKIE",
        f"{_ACCOUNTS}::test_the_proxy_names_the_user_who_has_the_role_of_the_file",
    ),
    Rule(
        "without its header a proxy gets nothing",
        f"{_HERE}/access/visitors.py",
        'if visitor is None and not scope["path"].startswith(OPEN):',
        "if False:",
        f"{_ACCOUNTS}::test_without_its_header_the_proxy_gets_nothing_but_with_a_token",
    ),
    Rule(
        "guesses lock nobody out of a place that they have logged in from",
        f"{_HERE}/access/login_attempts.py",
        "if (place, account) not in self._known:",
        "if True:",
        f"{_ACCOUNTS}::test_guesses_from_everywhere_slow_down_new_places_alone",
    ),
    Rule(
        "a task offers the changes that its state allows",
        f"{_HERE}/views/task_actions.py",
        "[action for action in ACTIONS if action.is_allowed(task)]",
        "list(ACTIONS)",
        f"{_TASK}::test_a_paused_task_can_be_resumed_and_a_retried_one_is_not_retried_again",
    ),
    Rule(
        "what was typed is held against the schema of the handler",
        f"{_HERE}/views/argument_fields.py",
        "    if handler.arguments is not None and not problems:\n",
        "    if False:\n",
        f"{_SUBMIT}::test_what_is_wrong_is_said_beside_the_typed_text_and_nothing_is_submitted",
    ),
    Rule(
        "a form comes back as it was typed",
        f"{_HERE}/views/submission_form.py",
        "arguments=as_typed(self.arguments, typed, problems),",
        "arguments=self.arguments,",
        f"{_SUBMIT}::test_what_is_wrong_is_said_beside_the_typed_text_and_nothing_is_submitted",
    ),
    Rule(
        "a form that edits a task does not show what is hidden",
        f"{_HERE}/changes/submissions.py",
        "_hidden(call, access)",
        "call",
        f"{_SUBMIT}::test_a_hidden_value_is_not_in_the_form_and_stays_as_it_was",
    ),
    Rule(
        "a hidden value of an edited task stays as it was",
        f"{_HERE}/views/argument_fields.py",
        "        kwargs = restored(kwargs)\n",
        "        pass\n",
        f"{_SUBMIT}::test_a_hidden_value_is_not_in_the_form_and_stays_as_it_was",
    ),
    Rule(
        "a form sent twice is one task",
        f"{_HERE}/views/submission_form.py",
        'task_id = typed.get(TASK_ID, "")',
        "task_id = str(id(typed))",
        f"{_SUBMIT}::test_a_form_that_is_sent_twice_is_one_task",
    ),
    Rule(
        "a form under the id of another task is no message for it",
        f"{_HERE}/views/submission_form.py",
        "        message_id=derived_message_id(task_id, FIRST),  # other content is a conflict\n",
        "",
        f"{_SUBMIT}::test_a_form_under_the_id_of_another_task_is_refused",
    ),
    Rule(
        "the activity names the task that was edited",
        f"{_HERE}/changes/carry_out.py",
        "subject, related=related)",
        "subject)",
        f"{_SUBMIT}::test_an_edited_task_is_a_new_one_and_both_are_linked",
    ),
    Rule(
        "a message that is sent twice is one",
        f"{_HERE}/changes/task_changes.py",
        "resume_task(asked.subject, text, message_id=message_id)",
        "resume_task(asked.subject, text)",
        f"{_TASK}::test_a_message_has_the_id_of_its_form",
    ),
    Rule(
        "the history of a page is bounded",
        f"{_HERE}/pages/task.py",
        "timeline if is_whole else timeline[-SHOWN:]",
        "timeline",
        f"{_TASK}::test_a_long_history_is_bounded_unless_all_is_asked_for",
    ),
)
