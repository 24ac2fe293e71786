"""An act of an operator: its name, its arguments, and the function that carries it out.

    PAUSE = Act("lanes/pause", PauseLane, pause_lane, subject="lane")

Rule 1: A face (command, form, route, tool) turns its input into the arguments, and shows the answer. A face checks
nothing. Rule 2: The function checks everything that the types of its arguments cannot express. It answers with a
document. Rule 3: Activity gets one entry for each change, under the name of the act, whether the change was made or
refused.

Warning: callers may repeat an act, because an answer can get lost. Calling the function twice must do no harm.
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
from holdfastd.operations.known import NameFilter, check_known, unknown_names
from holdfastd.operations.notes import AskedChange
from holdfastd.operations.reading import read_texts

A = TypeVar("A", bound=msgspec.Struct)
R = TypeVar("R")
P = ParamSpec("P")
T = TypeVar("T")


Reason = Annotated[str, Meta(max_length=1000, description="Reason, kept with what is changed.")]


class Purged(TypedDict):
    """The number of deleted dead letters, or of deleted unreadable entries."""

    purged: int


CHANGING = frozenset({Role.OPERATOR})  # the roles of users who may change a queue


class Face(StrEnum):
    """The interface through which an operator asks for a change. The value is the wording in the reason of a change."""

    COMMAND = "on the command line"
    WEB = "on the web"
    API = "over the API"
    AGENT = "through A2A"

    def switch(self, name: str) -> str:
        """How one sets an option of an act through this interface; empty if the interface does not have the option."""
        match self:
            case Face.COMMAND:
                return f"add --{name}"
            case Face.WEB:
                return "tick the box for it"
            case Face.API:
                return f"add {name}=true"
            case Face.AGENT:
                return ""


def operator_name() -> str:
    """The user and host of this process: `ann@web1`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in a container
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator who asks for a change. `name`: as Activity shows it. `origin`: address or host of the request."""

    name: str
    origin: str
    face: Face

    @property
    def by(self) -> str:
        """The operator in the words of a reason: `ann over the API, from 10.0.0.7`. For a command, the name contains
        the host."""
        return self.name if self.face is Face.COMMAND else f"{self.name} {self.face}, from {self.origin}"


def left_alone(_: BulkChange) -> None:
    """Do nothing with a change of many tasks. Some seconds later the change counts as interrupted, and any process may
    go on with it."""


@dataclass(frozen=True, slots=True)
class Doing:
    """The surroundings of an act's function: the store, the settings, the operator.

    `asked`: the change as Activity will show it; the function may set fields of it. `retries`: for calls of the store
    that do not go through the manager; None: one attempt. `seconds`: an act in steps answers after this time, and does
    the rest when it is called again; None: it answers when all is done. `on_step`: called with the number of items done
    so far. `begun`: called with a change of many tasks that this process is to carry out. `shown`: returns the text of
    a task filter without secrets. `folder`: the runtime folder of the supervisor to change; None: the supervisor of
    this host that serves the queue.
    """

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

    async def hint(self, wanted: NameFilter) -> None:
        """Say that a filter, which has found nothing, names a lane or handler that nobody knows."""
        self.asked.hint = await self.call(unknown_names, self.store, self.settings, wanted)

    async def check_known(
        self,
        kind: str,
        name: str,
        given: msgspec.Struct,
        names: Callable[P, Awaitable[set[str]]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """Check a name of a lane, handler or host, unless the act's arguments say `create`. `names`: reads the known
        names from the store. Raises UnknownNameError, which suggests similar names."""
        if not getattr(given, "create", False):
            create = self.operator.face.switch("create") if hasattr(given, "create") else ""
            check_known(kind, name, await self.call(names, *args, **kwargs), create)

    def step(self, done: int) -> None:
        """Record how many items are done so far: Activity has the number if the act ends early."""
        self.asked.done = done
        if self.on_step:
            self.on_step(done)

    async def call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a method of the store and return its answer. The call is retried while the store is away."""
        if self.retries is None:
            return await method(*args, **kwargs)
        return await self.retries.call(method, *args, **kwargs)

    def reason(self, verb: str, given: str) -> str:
        """The reason that the store keeps: `the bank is closed (paused by ann over the API, from 10.0.0.7)`."""
        by = f"{verb} by {self.operator.by}"
        return check_reason(f"{given.strip()} ({by})" if given.strip() else by)


@dataclass(frozen=True, slots=True)
class Act(Generic[A, R]):
    """An act of an operator. `name`: its name in Activity. `subject`: the argument that names the changed thing.
    `roles`: the roles of dashboard users who may ask for the act; users of the command line may always.

    The function's docstring is the help of the command and the summary of the route.
    """

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
        """The arguments, read from the texts of a form or a command line. Raises InvalidArgumentError."""
        return read_texts(texts, self.arguments)

    def subject_of(self, values: Mapping[str, Any]) -> str:
        """The name of the changed thing, taken from the raw input, even if the arguments cannot be read."""
        found = values.get(self.subject)
        return found if isinstance(found, str) else ""

    async def carry_out(self, doing: Doing, given: A) -> R:
        """Call the function and return its answer. Activity shows the reason that was given, and until when the change
        lasts."""
        answer = await self.function(doing, given)
        reason, until = (str(getattr(given, field, "") or "") for field in ("reason", "until"))
        doing.asked.outcome = doing.asked.outcome or ", ".join(
            filter(None, (reason.strip(), until and f"until {until}"))
        )
        return answer
