"""The values of a task's parents as one argument of its handler: `counts: ParentValues[int]`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin

from holdfast.core.parent_results import ParentResult
from holdfast.core.task_states import State
from holdfast.handler.converters import Convert, MisfitError, convert_all, converters, prepare

V = TypeVar("V", covariant=True)


class ParentValues(tuple[V, ...]):
    """A parameter of this type gets what the handlers of the task's parents returned, in the order of `after`, each
    made what the annotation says. The value of a parent that did not complete is None: `ParentValues[int | None]` takes
    it, `ParentValues[int]` rejects the task."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ValuesParameter:
    """The parameter `name` that gets the values of parents; `convert` has the converter of one value by that name."""

    name: str
    convert: Mapping[str, Convert] = field(default_factory=dict[str, Convert])

    def prepare(self) -> None:
        """Make the converter now, as it is shared by processes that are forked later."""
        prepare(self.convert)

    def values(self, parents: Iterable[ParentResult]) -> ParentValues[Any]:
        """Raises MisfitError, ParentResultError, and any error of the user's own validators."""
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
    """True for an annotation that could not be looked up: it is compared as it is written."""
    return isinstance(annotation, str) and annotation.partition("[")[0].rpartition(".")[2] == "ParentValues"
