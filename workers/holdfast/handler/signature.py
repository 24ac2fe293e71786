"""Decides which arguments a handler gets, once, when it is registered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from holdfast.core.messages import Message
from holdfast.errors import HandlerError
from holdfast.handler.annotations import looked_up, unknown_names
from holdfast.handler.converters import Convert, MisfitError, convert_all, converters, prepare
from holdfast.handler.injected_values import injected
from holdfast.handler.parent_values import ValuesParameter, values_parameter
from holdfast.handler.task import Task

_TASK_SPELLINGS = ("Task", "holdfast.Task", "Task | None")


@dataclass(frozen=True, slots=True)
class Signature:
    """`task`: the parameter that gets the task; `required` and `known`: those that kwargs may fill; `open`: any other
    kwargs, too; `convert`: converters of values by parameter; `injected`: those that get the value of a lifespan,
    each with the type of the value; `values`: the one that gets the values of parents; `own`: the parameters that a
    task has arguments for."""

    messages: bool
    task: str | None
    required: frozenset[str]
    known: frozenset[str]
    open: bool
    convert: Mapping[str, Convert] = field(default_factory=dict[str, Convert])
    injected: Mapping[str, Any] = field(default_factory=dict[str, Any])
    own: inspect.Signature = field(default_factory=inspect.Signature)
    values: ValuesParameter | None = None

    @property
    def unknown(self) -> dict[str, list[str]]:
        """The parameters of a task whose annotations cannot be looked up, each with what nobody knows in it."""
        of_tasks = (one for one in self.own.parameters.values() if one.name in self.known)
        return {one.name: names for one in of_tasks if (names := unknown_names(one.annotation))}

    def fit(self, kwargs: Mapping[str, object]) -> dict[str, Any]:
        """The kwargs as the handler gets them. Raises MisfitError, and any error of the user's own validators."""
        if not kwargs and not self.required:
            return {}
        if misfit := self._misfit(kwargs):
            raise MisfitError(misfit)
        return convert_all(self.convert, kwargs)

    def prepare(self) -> None:
        """Make the converters now, as they are shared by processes that are forked later."""
        prepare(self.convert)
        if self.values is not None:
            self.values.prepare()

    def _misfit(self, kwargs: Mapping[str, object]) -> str | None:
        if self.required <= kwargs.keys() <= self.known:
            return None
        if missing := self.required - kwargs.keys():
            return f"missing arguments: {', '.join(sorted(missing))}"
        reserved = {*(["messages"] if self.messages else []), self.task, *self.injected}
        if self.values is not None:
            reserved.add(self.values.name)
        strange = {name for name in kwargs if name in reserved or not (self.open or name in self.known)}
        if strange:
            return f"unexpected arguments: {', '.join(sorted(strange))}"
        return None

    def arguments(self, messages: list[Message], task: Task, kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments of a call, all by keyword: what `fit` has made of the kwargs, with the others added. Raises
        MisfitError, ParentResultError, and any error of the user's own validators."""
        if self.messages:
            kwargs["messages"] = messages
        if self.task is not None:
            kwargs[self.task] = task
        if self.values is not None:
            kwargs[self.values.name] = self.values.values(task.parents.values())
        return kwargs


def inspect_signature(
    function: Callable[..., object], what: str, *, named: bool, types: Collection[Any] = ()
) -> Signature:
    """The signature of a handler; `named` ones may have parameters of their own, `types` are those of lifespans'
    values. Raises HandlerError."""
    parameters = [one for one in parameters_of(function, what) if one.kind is not one.VAR_POSITIONAL]
    task = next((one.name for one in parameters if _takes_task(one)), None)
    wanted = injected((one for one in parameters if one.name not in ("messages", task)), types)
    values = values_parameter(parameters)
    ours = ("messages", task, *wanted, *([values.name] if values else []))
    own = [one for one in parameters if one.name not in ours and one.kind is not one.VAR_KEYWORD]
    required = frozenset(one.name for one in own if one.default is one.empty)
    _check(parameters, required, what, named=named)
    return Signature(
        messages=any(one.name == "messages" for one in parameters),
        task=task,
        required=required,
        known=frozenset(one.name for one in own if named),
        open=named and any(one.kind is one.VAR_KEYWORD for one in parameters),
        convert=converters(own) if named else {},
        injected=wanted,
        own=inspect.Signature([one for one in parameters if one.name not in ours]),
        values=values,
    )


def parameters_of(function: Callable[..., object], what: str) -> list[inspect.Parameter]:
    """The parameters, with annotations as values where they can be looked up, as written where not (names known to
    type checkers, or defined later)."""
    try:
        written = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise HandlerError(f"{what} cannot be inspected: {error}") from None
    names: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
    return [one.replace(annotation=looked_up(one.annotation, names)) for one in written]


def _takes_task(parameter: inspect.Parameter) -> bool:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return False
    annotation = parameter.annotation
    if isinstance(annotation, str):
        return parameter.name == "task" or annotation in _TASK_SPELLINGS
    return parameter.name == "task" or annotation is Task or Task in get_args(annotation)


def _check(parameters: list[inspect.Parameter], required: frozenset[str], what: str, *, named: bool) -> None:
    if fixed := [one.name for one in parameters if one.kind is one.POSITIONAL_ONLY]:
        raise HandlerError(
            f"{what} has positional-only parameters ({', '.join(fixed)}): remove the / from its signature"
        )
    if required and not named:
        names = ", ".join(sorted(required))
        raise HandlerError(
            f"{what} has required parameters that nothing is passed to ({names}): "
            "it may take messages, task, ParentValues, and values of lifespans that stand above it; give "
            "others a default, or register it by name"
        )
