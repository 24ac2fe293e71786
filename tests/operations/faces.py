"""An act as its operators ask for it, through each face: a command, a form, a route."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from urllib.parse import quote

import anyio

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError
from holdfastd.cli.common.session import Session
from holdfastd.cli.top.panes import PaneRow
from holdfastd.cli.top.screen_state import RowOrder
from holdfastd.cli.top.top import carry_out
from holdfastd.operations.act import Act
from tests.cli.commands import Cli
from tests.web.site import Site

API = "/api/v1"


@dataclass(frozen=True)
class Case:
    """`act` is asked for `subject` with arguments `given`, after `before` was asked for. `words`: of the command;
    `route`: method and path, `{}` for the subject; None: only a command asks for it. It `answers` with this, or is
    refused with a text that has `refusal`. `form`: its fields, where they are not the arguments; `left_out`:
    the faces that it does not have; `more`: those that it has besides FACES."""

    act: Act[object, object]  # type: ignore[type-var]  # of any arguments
    subject: str
    words: tuple[str, ...]
    route: tuple[str, str] | None
    given: Mapping[str, object] = field(default_factory=dict[str, object])
    before: tuple[Case, ...] = ()
    answers: Mapping[str, object] | None = None
    refusal: str = ""
    form: Mapping[str, str] | None = None
    left_out: tuple[str, ...] = ()
    more: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.act.name} {self.subject} {'refused' if self.refusal else self.answers}"

    @property
    def faces(self) -> tuple[str, ...]:
        usual = tuple(face for face in FACES if face not in self.left_out) if self.route else ("command",)
        return (*usual, *self.more)


@dataclass(frozen=True)
class Said:
    """What came of it: the answer as a document, or why it was refused, and its note in Activity."""

    answer: object
    refusal: str
    note: Activity


async def by_command(cli: Cli, here: Site, case: Case) -> Said:
    given = [word for name, value in case.given.items() for word in _option(name, value)]
    answer = await anyio.to_thread.run_sync(partial(cli, *case.words, *given, "--json"))
    if answer.status == 0:
        return Said(answer.document, "", await _note(here))
    why = answer.err or answer.document["why"]
    return Said(None, why, await _note(here))


async def by_form(_: Cli, here: Site, case: Case) -> Said:
    fields = case.form if case.form is not None else {name: _text(value) for name, value in case.given.items()}
    assert case.route is not None
    subject = {case.act.subject: case.subject} if "{}" in case.route[1] else {}
    sent = await here.change(f"/{case.act.name}", **subject, **fields)
    return Said(None, "" if sent.status_code == 303 else unescape(sent.text), await _note(here))


async def by_route(_: Cli, here: Site, case: Case) -> Said:
    assert case.route is not None
    method, path = case.route
    body = dict(case.given) or None
    sent = await here.program.request(method, API + path.format(quote(case.subject, safe="")), json=body)
    document = sent.json()
    return (
        Said(document, "", await _note(here)) if sent.is_success else Said(None, document["detail"], await _note(here))
    )


METHODS = {"tasks/cancel": "CancelTask", "tasks/message": "SendMessage"}


async def by_agent(_: Cli, here: Site, case: Case) -> Said:
    """The agent answers with its own form of a task."""
    params: dict[str, object] = {"id": case.subject}
    if "text" in case.given:
        parts = [{"text": case.given["text"]}]
        message = {"messageId": "m", "taskId": case.subject, "role": "ROLE_USER", "parts": parts}
        params = {"message": message, "configuration": {"returnImmediately": True}}
    call = {"jsonrpc": "2.0", "id": 1, "method": METHODS[case.act.name], "params": params}
    document = (await here.program.post("/a2a", json=call, headers={"a2a-version": "1.0"})).json()
    return Said(None, document["error"]["message"] if "error" in document else "", await _note(here))


async def by_top(_: Cli, here: Site, case: Case) -> Said:
    flags = {"redis_url": here.settings.redis_url, "queue_name": here.settings.queue_name}
    row, refusal = PaneRow((), task_id=case.subject), ""
    try:
        await carry_out(RowOrder(case.act.name.removeprefix("tasks/")), row, Session(flags), here.store)
    except HoldfastError as error:
        refusal = str(error)
    return Said(None, refusal, await _note(here))


FACES = {"command": by_command, "form": by_form, "route": by_route}
MORE = {"agent": by_agent, "top": by_top}


async def _note(here: Site) -> Activity:
    """The last change of the queue."""
    (last, *_) = await here.store.activity_before("", 1)
    return last


def _text(value: object) -> str:
    if isinstance(value, dict):
        return json.dumps(value)
    return "none" if value is None else "true" if value is True else str(value)


def _option(name: str, value: object) -> list[str]:
    return [f"--{name.replace('_', '-')}", *([] if value is True else [_text(value)])]
