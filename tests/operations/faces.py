"""An act as its operators ask for it, through each face: a command, a form, a route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from html import unescape
from urllib.parse import quote

import anyio

from holdfast.core.activity import Activity
from holdfastd.operations.act import Act
from tests.cli.commands import Cli
from tests.dashboard.site import Site

API = "/api/v1"


@dataclass(frozen=True)
class Case:
    """`act` is asked for `subject` with arguments `given`, after `before` was asked for. `words`: of the command;
    `route`: method and path, `{}` for the subject; None: only a command asks for it. It `answers` with this, or is
    refused with a text that has `refusal`."""

    act: Act[object, object]  # type: ignore[type-var]  # of any arguments
    subject: str
    words: tuple[str, ...]
    route: tuple[str, str] | None
    given: Mapping[str, object] = field(default_factory=dict[str, object])
    before: tuple[Case, ...] = ()
    answers: Mapping[str, object] | None = None
    refusal: str = ""

    def __str__(self) -> str:
        return f"{self.act.name} {self.subject} {'refused' if self.refusal else self.answers}"

    @property
    def faces(self) -> tuple[str, ...]:
        return tuple(FACES) if self.route else ("command",)


@dataclass(frozen=True)
class Said:
    """What came of it: the answer as a document, or why it was refused, and its note in Activity."""

    answer: object
    refusal: str
    note: Activity


async def by_command(cli: Cli, here: Site, case: Case) -> Said:
    given = [word for name, value in case.given.items() for word in _option(name, value)]
    answer = await anyio.to_thread.run_sync(partial(cli, *case.words, *given, "--json"))
    return Said(answer.document if answer.status == 0 else None, answer.err, await _note(here))


async def by_form(_: Cli, here: Site, case: Case) -> Said:
    fields = {name: _text(value) for name, value in case.given.items()}
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


FACES = {"command": by_command, "form": by_form, "route": by_route}


async def _note(here: Site) -> Activity:
    """The last change of the queue."""
    (last, *_) = await here.store.activity_before("", 1)
    return last


def _text(value: object) -> str:
    return {None: "none", True: "true"}.get(value, str(value))  # type: ignore[arg-type]


def _option(name: str, value: object) -> list[str]:
    return [f"--{name.replace('_', '-')}", *([] if value is True else [_text(value)])]
