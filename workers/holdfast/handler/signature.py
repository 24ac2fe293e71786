"""Decides which arguments a handler gets, once, when it is registered."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec

from holdfast.core.messages import Message
from holdfast.core.outcomes import ParentResult
from holdfast.core.task_states import State
from holdfast.errors import HandlerError
from holdfast.handler.converters import Convert, MisfitError, convert_all, converters, prepare
from holdfast.handler.task import Task

# Looks up the names in annotations of handlers, and says which of them are unknown.
#
# A handler is inspected when it is registered. The class that its annotation names may stand below it in the module. So
# a name that is unknown then is looked up again when the import is over. A name that is still unknown is refused:
# otherwise the handler would get unchecked data where its signature promises an object.


_LISTS = (list,)


def looked_up(annotation: Any, names: Mapping[str, Any]) -> Any:
    """The annotation as a value, with its names looked up in `names`; unchanged if they are not known."""
    if not _written(annotation):
        return annotation
    try:
        hints = get_type_hints(SimpleNamespace(__annotations__={"it": annotation}), dict(names), include_extras=True)
    except Exception:  # a name that type checkers alone know, or that is defined later
        return annotation
    return hints["it"]


def _written(annotation: Any) -> set[str]:
    """The names in an annotation that are still text, because Python has not looked them up."""
    if type(annotation) in _LISTS:  # the parameters of a Callable
        return {name for part in annotation for name in _written(part)}
    if isinstance(annotation, str):
        return {annotation}
    if isinstance(annotation, ForwardRef):
        return {annotation.__forward_arg__}
    if get_origin(annotation) is Literal:
        return set()
    return {name for part in _parts(annotation) for name in _written(part)}


def _parts(annotation: Any) -> tuple[Any, ...]:
    """The types in an annotation, without the notes of `Annotated`."""
    return get_args(annotation)[:1] if get_origin(annotation) is Annotated else get_args(annotation)


def _unknown(annotation: Any, seen: set[Any]) -> set[str]:
    """The names in an annotation that cannot be looked up, also in the fields of the classes that it names."""
    found = _written(annotation)
    for part in (annotation, *_parts(annotation)):
        if isinstance(part, type) and part not in seen:
            seen.add(part)
            found |= _unknown_fields(part, seen)
        elif part is not annotation and get_args(part) and get_origin(part) is not Literal:
            found |= _unknown(part, seen)
    return found


def _unknown_fields(kind: type[Any], seen: set[Any]) -> set[str]:
    if "__pydantic_complete__" in vars(kind):
        return _unknown_of_model(kind)
    if not (dataclasses.is_dataclass(kind) or is_typeddict(kind) or issubclass(kind, (msgspec.Struct, tuple))):
        return set()
    try:
        hints = get_type_hints(cast(Any, kind))
    except NameError as error:
        return {f"{error.name} in {kind.__qualname__}"}
    except Exception:  # pydantic or msgspec will say what is wrong with the class
        return set()
    return {name for hint in hints.values() for name in _unknown(hint, seen)}


def _unknown_of_model(model: Any) -> set[str]:
    """A text that names the pydantic model, if the type of one of its fields cannot be looked up; else nothing. Before
    this, the model tries once more to look the types up."""
    try:
        if model.__pydantic_complete__ or model.model_rebuild(raise_errors=False, _types_namespace=None):
            return set()
    except Exception:  # a class that only looks like a model
        return set()
    return {f"a field of {model.__qualname__}"}


# The values of a task's parents as one argument of its handler: `counts: ParentValues[int]`.

V = TypeVar("V", covariant=True)


class ParentValues(tuple[V, ...]):
    """A parameter of this type gets the values that the handlers of the task's parents returned, in the order of
    `after`. Each is converted to the annotated type. A parent that did not complete has the value None:
    `ParentValues[int | None]` accepts it, `ParentValues[int]` rejects the task."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ValuesParameter:
    """The parameter `name` of a handler, which gets the values of the task's parents. `convert[name]` converts the
    value of one parent."""

    name: str
    convert: Mapping[str, Convert] = field(default_factory=dict[str, Convert])

    def prepare(self) -> None:
        """Make the converter now, so that processes forked later share it."""
        prepare(self.convert)

    def values(self, parents: Iterable[ParentResult]) -> ParentValues[Any]:
        """The converted values of these parents. Raises MisfitError, ParentResultError, and any error of the user's own
        validators."""
        return ParentValues([self._value(parent) for parent in parents])

    def _value(self, parent: ParentResult) -> Any:
        has_none = parent.has_ended and parent.state is not State.COMPLETED
        try:
            return convert_all(self.convert, {self.name: None if has_none else parent.value})[self.name]
        except MisfitError as misfit:
            why = f" is {parent.state or 'gone'} and has no value" if has_none else ""
            raise MisfitError(f"parent {parent.task_id}{why}: {misfit}") from None


def values_parameter(parameters: Iterable[inspect.Parameter]) -> ValuesParameter | None:
    """The first parameter that is annotated with ParentValues."""
    for one in parameters:
        annotation = one.annotation
        if get_origin(annotation) is ParentValues:
            return ValuesParameter(one.name, converters([one.replace(annotation=get_args(annotation)[0])]))
        if annotation is ParentValues or _is_written(annotation):
            return ValuesParameter(one.name)
    return None


def _is_written(annotation: object) -> bool:
    """True for an annotation that is still text (Python could not look it up) and that names ParentValues."""
    return isinstance(annotation, str) and annotation.partition("[")[0].rpartition(".")[2] == "ParentValues"


# Finds the parameters of a function that get values of lifespans, by their annotations, and binds them.

_AROUND = (Union, UnionType, Annotated)


def injected(parameters: Iterable[inspect.Parameter], types: Iterable[Any]) -> dict[str, Any]:
    """The parameters that get the value of a lifespan, each with the type that the lifespan yields."""
    known = tuple(types)
    found = {one.name: _matching(one, known) for one in parameters} if known else {}
    return {name: kind for name, kind in found.items() if kind is not None}


def with_values(function: Any, wanted: Mapping[str, Any], values: Mapping[Any, object]) -> Any:
    """The function with the parameters `wanted` bound. `values`: lifespan values by their type."""
    return partial(function, **{name: values[kind] for name, kind in wanted.items()}) if wanted else function


def type_name(kind: Any) -> str:
    """The type as it is written in an annotation, without its module."""
    return str(getattr(kind, "__name__", kind))


def _matching(parameter: inspect.Parameter, types: tuple[Any, ...]) -> Any:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return None
    annotation = parameter.annotation
    if isinstance(annotation, str):  # it could not be looked up, so its text is compared
        written = annotation.removesuffix("| None").strip().rpartition(".")[2]
        return next((kind for kind in types if type_name(kind) == written), None)
    choices = (annotation, *(get_args(annotation) if get_origin(annotation) in _AROUND else ()))
    return next((kind for kind in types if kind in choices), None)


_TASK_SPELLINGS = ("Task", "holdfast.Task", "Task | None")


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a handler. `messages`: True if it takes the messages. `task`: the parameter that gets the task.
    `required` and `known`: parameters that kwargs must or may fill; `open`: other kwargs are allowed, too. `convert`:
    converters by parameter. `injected`: parameters that get a lifespan value, each with its type. `values`: the
    parameter that gets the values of parents. `own`: the parameters that a task has arguments for."""

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
        """The parameters whose annotations cannot be looked up, with the unknown names of each."""
        of_tasks = (one for one in self.own.parameters.values() if one.name in self.known)
        return {one.name: names for one in of_tasks if (names := sorted(_unknown(one.annotation, set())))}

    def fit(self, kwargs: Mapping[str, object]) -> dict[str, Any]:
        """The kwargs, converted for the handler. Raises MisfitError, and any error of the user's own validators."""
        if not kwargs and not self.required:
            return {}
        if misfit := self._misfit(kwargs):
            raise MisfitError(misfit)
        return convert_all(self.convert, kwargs)

    def prepare(self) -> None:
        """Make the converters now, so that processes forked later share them."""
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
        """The arguments of a call, all by keyword: `kwargs` (already converted by `fit`) and the arguments that workers
        pass. Raises MisfitError, ParentResultError, and any error of the user's own validators."""
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
    """The signature of a handler. A `named` handler may have its own parameters. `types`: the types of lifespan values.
    Raises HandlerError."""
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
    """The parameters of a function. Annotations are values if they can be looked up. Otherwise they stay text: names
    that only type checkers know, or that are defined later."""
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
            f"{what} has required parameters that Holdfast cannot fill in ({names}): it may take messages, task, "
            "ParentValues, and values of lifespans that were registered before it; give other parameters a default, or "
            "register the handler by name"
        )
