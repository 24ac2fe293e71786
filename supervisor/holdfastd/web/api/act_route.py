"""Routes of the API that carry out acts of operators: made of the definition of each act."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast, get_type_hints

import msgspec

from holdfastd.operations.act import Act, Face
from holdfastd.web.access.forms import doing
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import BODY, ApiOperation
from holdfastd.web.queue.found_tasks import bulk_work_of

_SEGMENT = re.compile(r"{(\w+)}")


def route(
    method: str,
    path: str,
    act: Act[Any, Any],
    *,
    examples: Mapping[str, object] | None = None,
    name: str = "",
    statuses: tuple[int, ...] = (200,),
) -> ApiOperation:
    """Segments of the path are arguments; all others stand in the body. `name`: of the operation, if another than that
    of the function; `statuses`: the first is that of the answer."""
    segments = tuple(_SEGMENT.findall(path))
    body = _body(cast("type[msgspec.Struct]", act.arguments), segments)

    async def perform(call: ApiCall, **given: Any) -> Any:
        others = msgspec.structs.asdict(given.pop(BODY)) if BODY in given else {}
        values = {**given, **{key: value for key, value in others.items() if value is not msgspec.UNSET}}
        call.asked.subject = call.asked.subject or act.subject_of(values)
        call.status = statuses[0]
        surroundings = doing(call.access, call.asked, Face.API, bulk_work_of(call.request).start)
        return await act.carry_out(surroundings, act.read(values))

    perform.__name__ = name or act.function.__name__
    perform.__doc__ = act.help
    perform.__annotations__ = {
        "call": ApiCall,
        **dict.fromkeys(segments, str),
        **({BODY: body} if body else {}),
        "return": get_type_hints(act.function)["return"],
    }
    return ApiOperation(method, path, perform, act, statuses, examples or {})


@cache
def _body(arguments: type[msgspec.Struct], segments: tuple[str, ...]) -> type[msgspec.Struct] | None:
    """The arguments that are no segments of the path; None if there is none. Acts on the same have one body."""
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
