"""An act of an operator: its name, its arguments, and the function that carries it out.

    PAUSE = Act("lanes/pause", PauseLane, pause_lane, subject="lane")

Rule 1: A face (command, form, route, tool) reads its input into the arguments, and shows the answer. It checks nothing.
Rule 2: The function checks everything that the types of its arguments cannot express. It answers with a document.
Rule 3: Each change is noted in Activity once, under the name of its act: when it was made, and when it was refused.

Warning: an act may be repeated, because its answer may be lost. Calling its function twice must do no harm.
"""

from __future__ import annotations

import getpass
import inspect
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Concatenate, Generic, ParamSpec, TypedDict, TypeVar

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_reason
from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.bulk_changes import BulkChange
from holdfast.store import Store
from holdfast_config import Settings
from holdfast_config.web_users import Role
from holdfastd.operations.notes import AskedChange
from holdfastd.operations.reading import read_texts

A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R")
P = ParamSpec("P")
T = TypeVar("T")


Reason = Annotated[str, Meta(max_length=1000, description="Reason, kept with what is changed.")]


class Purged(TypedDict):
    """The number of dead letters or entries."""

    purged: int


CHANGING = frozenset({Role.OPERATOR})  # the roles of those who may change a queue


class Face(StrEnum):
    """The place where an operator asks, in the words of reasons."""

    COMMAND = "on the command line"
    WEB = "on the web"
    API = "over the API"
    AGENT = "through A2A"


def operator_name() -> str:
    """The user and host of this process."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in a container
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator who asks: the name in Activity, the address or host of the request, and the face."""

    name: str
    origin: str
    face: Face

    @property
    def by(self) -> str:
        """The operator in the words of a reason: `ann over the API, from 10.0.0.7`. For a command, the name contains
        the host."""
        return self.name if self.face is Face.COMMAND else f"{self.name} {self.face}, from {self.origin}"


def left_alone(_: BulkChange) -> None:
    """Nobody here carries it out: some seconds later it counts as interrupted, and anybody may go on with it."""


@dataclass(frozen=True, slots=True)
class Doing:
    """The surroundings of an act's function: the store, the settings, the operator. The function may change `asked`,
    its entry in Activity. `retries`: for calls that do not pass the manager; None: one attempt.

    For acts in steps: `seconds`: the act answers after this time, and does the rest when it is asked for again; None:
    it answers when all is done. `on_step`: is told how much is done by now. `begun`: has this process carry out a
    change of many tasks. `shown`: a filter of tasks without what it hides. `folder`: of the supervisor that is meant;
    None: the one of this host that serves the queue."""

    store: Store
    manager: TaskManager
    settings: Settings
    operator: Operator
    asked: AskedChange
    retries: SubmitRetries | None = None
    seconds: float | None = None
    on_step: Callable[[int], None] | None = None
    shown: Callable[[str], str] = str
    begun: Callable[[BulkChange], object] = left_alone
    folder: Path | None = None

    async def call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """The answer of a method of the store; the call is retried while the store is away."""
        if self.retries is None:
            return await method(*args, **kwargs)
        return await self.retries.call(method, *args, **kwargs)

    def reason(self, verb: str, given: str) -> str:
        """The text that is kept with the change: `the bank is closed (paused by ann over the API, from 10.0.0.7)`."""
        by = f"{verb} by {self.operator.by}"
        return check_reason(f"{given.strip()} ({by})" if given.strip() else by)


@dataclass(frozen=True, slots=True)
class Act(Generic[A, R]):
    """`name`: in Activity. `subject`: the argument that names the changed thing. `roles`: of the users who may ask for
    it; whoever may use the command line may, too. The function's docstring is the help of the command and the summary
    of the route."""

    name: str
    arguments: type[A]
    function: Callable[Concatenate[Doing, A, ...], Awaitable[R]]
    subject: str = ""
    roles: frozenset[Role] = CHANGING

    @property
    def help(self) -> str:
        return inspect.getdoc(self.function) or ""

    @property
    def fields(self) -> tuple[msgspec.structs.FieldInfo, ...]:
        return msgspec.structs.fields(self.arguments)

    def read_texts(self, texts: Mapping[str, object]) -> A:
        """The arguments from texts of a form or a command line. Raises InvalidArgumentError."""
        return read_texts(texts, self.arguments)

    def subject_of(self, values: Mapping[str, Any]) -> str:
        """The subject from the raw input, even if the arguments cannot be read."""
        found = values.get(self.subject)
        return found if isinstance(found, str) else ""

    async def carry_out(self, doing: Doing, given: A) -> R:
        """The answer of the function."""
        return await self.function(doing, given)
