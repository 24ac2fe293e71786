"""A worker's handler: a default function or runner, functions by name, or both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.messages import Message
from holdfast.core.outcomes import Outcome
from holdfast.errors import HandlerError
from holdfast.handler.function import HandlerFunction, HandlerOptions
from holdfast.handler.lifespan import Lifespan
from holdfast.handler.task import Task
from holdfast_config import Settings
from holdfast_config.lanes import Lane

# A runner runs a delivery by itself and returns its outcome: a command, or a worker of another framework.


class Runner(Protocol):
    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """Run one delivery. When this returns, or is cancelled, nothing of it runs any more."""
        ...


_NO_OPTIONS = HandlerOptions()


@dataclass(frozen=True, slots=True)
class Handler:
    """`target`: the name that the operator gave. `schedules`: the schedules that the application's code defines, by id.
    `lanes`: the lanes that it takes tasks from, if it names any. `lifespans`: a worker opens them in this order."""

    target: str
    default: HandlerFunction | Runner | None = None
    named: Mapping[str, HandlerFunction] = field(default_factory=dict[str, HandlerFunction])
    schedules: Mapping[str, ScheduleSpec] = field(default_factory=dict[str, ScheduleSpec])
    lanes: tuple[Lane, ...] = ()
    lifespans: tuple[Lifespan, ...] = ()

    @property
    def names(self) -> frozenset[str] | None:
        """The names of its handlers; the empty name is the default handler. None: it accepts any name."""
        if not self.named:
            return None
        return frozenset(self.named) | ({""} if self.default is not None else frozenset[str]())

    def choose(self, name: str | None) -> HandlerFunction | Runner | None:
        """The function or runner of an operation that calls `name`. Without named handlers the name is ignored."""
        return self.named.get(name) if name is not None and self.named else self.default

    def prepare(self) -> None:
        """Make everything now that functions would otherwise make at their first call."""
        for function in (self.default, *self.named.values()):
            if isinstance(function, HandlerFunction):
                function.signature.prepare()

    def given(self, values: Mapping[Any, object]) -> Handler:
        """The handler with the values of lifespans bound, by the type that each yields."""
        default = self.default.given(values) if isinstance(self.default, HandlerFunction) else self.default
        return replace(self, default=default, named={name: each.given(values) for name, each in self.named.items()})

    @property
    def first_in_main_thread(self) -> str | None:
        """The name of a handler that needs the main thread of its process; None: none does."""
        return next((name for name, each in self.named.items() if each.options.in_main_thread), None)

    def refuse_main_thread(self, reason: str) -> None:
        """Raise HandlerError if a handler needs the main thread, because there is none here; `reason` says why and what
        to do."""
        if (name := self.first_in_main_thread) is not None:
            raise HandlerError(f"the handler {name!a} has thread='main', where it may use signals: {reason}")

    def options(self, name: str | None) -> HandlerOptions:
        """The options that the handler of an operation that calls `name` was registered with."""
        chosen = self.choose(name)
        return chosen.options if isinstance(chosen, HandlerFunction) else _NO_OPTIONS

    def absence(self, name: str | None) -> str:
        """The error if `choose` finds no handler."""
        known = ", ".join(sorted(self.named)) or "none"
        wanted = "the operation names no handler and there is no default" if name is None else f"no handler {name!a}"
        return f"{wanted}; {self.target} registers: {known}"[:500]


# Base class of objects that make a handler of themselves: the worker classes of `holdfast.timeline`.


class Provider(ABC):
    """An object that provides a handler. Its method names cannot clash with the user's."""

    @abstractmethod
    def __handler__(self, target: str, settings: Settings | None) -> Handler:
        """The handler that runs its tasks. `target` is the name that the operator gave. Raises HandlerError."""
