"""An operation of the API: its method and path, and a function whose annotations are the types of request and answer.

`route` makes the operation of an operator's act from the definition of the act.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Any, cast, get_type_hints

import msgspec
from msgspec import Meta
from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.store import Store
from holdfastd.doctor.finding import Finding
from holdfastd.operations.act import Act, Face
from holdfastd.operations.notes import AskedChange
from holdfastd.web.access.forms import doing
from holdfastd.web.queue.cached_reports import PeriodReports
from holdfastd.web.queue.found_tasks import Cursor, bulk_work_of
from holdfastd.web.queue.queue_access import QueueAccess


@dataclass(slots=True)
class ApiCall:
    """A call of an operation. `asked`: the change as Activity will show it. `problems`: reads the present problems of
    the queue. `reports`: makes statistics of a period. `status`: HTTP status of the answer; the function may set it."""

    access: QueueAccess
    asked: AskedChange
    request: Request
    problems: Callable[[], Awaitable[list[Finding]]]
    reports: PeriodReports
    status: int = 200

    @property
    def manager(self) -> TaskManager:
        return self.access.manager

    @property
    def store(self) -> Store:
        return self.access.store


QUERY, BODY = "query", "body"  # parameters that are decoded; all others are segments of the path


@dataclass(frozen=True, slots=True)
class ApiOperation:
    """An operation of the API. `path`: has `{name}` for a variable segment. `act`: the act that the operation carries
    out; None: it only reads. `statuses`: the HTTP statuses of successful answers. `examples`: of the body, by name."""

    method: str
    path: str
    function: Callable[..., Awaitable[Any]]
    act: Act[Any, Any] | None = None
    statuses: tuple[int, ...] = (200,)
    examples: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def segments(self) -> tuple[str, ...]:
        return tuple(self.path[1:].split("/"))

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the variable segments."""
        return tuple(each[1:-1] for each in self.segments if each.startswith("{"))

    @property
    def hints(self) -> dict[str, Any]:
        """The types of the function's parameters, and the type of its answer as `return`."""
        return _hints(self.function)

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @property
    def description(self) -> str:
        return " ".join((inspect.getdoc(self.function) or "").split())

    def matches(self, segments: tuple[str, ...]) -> dict[str, str] | None:
        """The values of `fields` in a path; None for another path."""
        if len(segments) != len(self.segments):
            return None
        found = dict[str, str]()
        for own, given in zip(self.segments, segments, strict=True):
            if own.startswith("{"):
                found[own[1:-1]] = given
            elif own != given:
                return None
        return found


@cache
def _hints(function: Callable[..., Awaitable[Any]]) -> dict[str, Any]:
    return get_type_hints(function, include_extras=True)


Limit = Annotated[int, Meta(ge=1, le=500, description="Maximum number of items.")]


class PageQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A page of a list."""

    limit: Limit = 100
    cursor: Cursor = ""


_SEGMENT = re.compile(r"{(\w+)}")


def route(
    method: str,
    path: str,
    act: Act[Any, Any],
    *,
    examples: Mapping[str, object] | None = None,
    statuses: tuple[int, ...] = (200,),
) -> ApiOperation:
    """The operation that carries out an act. Variable segments of the path are arguments of the act; the body has the
    others. The answer has the first of `statuses`."""
    segments = tuple(_SEGMENT.findall(path))
    body = _body(cast("type[msgspec.Struct]", act.arguments), segments)

    async def perform(call: ApiCall, **given: Any) -> Any:
        others = msgspec.structs.asdict(given.pop(BODY)) if body else {}
        values = {**given, **others}
        call.asked.subject = call.asked.subject or act.subject_of(values)
        call.status = statuses[0]
        surroundings = doing(call.access, call.asked, Face.API, bulk_work_of(call.request).start)
        return await act.carry_out(surroundings, act.arguments(**values))

    perform.__name__ = act.function.__name__
    perform.__doc__ = act.help
    perform.__annotations__ = {
        "call": ApiCall,
        **{each.name: each.type for each in act.fields if each.name in segments},
        **({BODY: body} if body else {}),
        "return": get_type_hints(act.function)["return"],
    }
    return ApiOperation(method, path, perform, act, statuses, examples or {})


@cache
def _body(arguments: type[msgspec.Struct], segments: tuple[str, ...]) -> type[msgspec.Struct] | None:
    """The type of the body: the arguments that are not in the path; None if there are none. Acts with the same
    arguments have one type."""
    left = [field for field in msgspec.structs.fields(arguments) if field.name not in segments]
    if not left:
        return None
    fields = [(each.name, each.type, *_default(each)) for each in left]
    about = {"__doc__": inspect.getdoc(arguments) or ""}
    return msgspec.defstruct(
        arguments.__name__, fields, namespace=about, frozen=True, forbid_unknown_fields=True, kw_only=True
    )


def _default(field: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    if field.default_factory is not msgspec.NODEFAULT:
        return (msgspec.field(default_factory=field.default_factory),)
    return () if field.default is msgspec.NODEFAULT else (field.default,)
