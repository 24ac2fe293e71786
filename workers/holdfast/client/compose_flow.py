"""Makes flows of tasks: one after the other (`chain`), or side by side (`gather`).

    report = await gather([count.bind(page) for page in pages], then=total.bind())
    record = await report.wait(timeout=60, raise_failed=True)

Both only set `after` of the tasks that follow: a handler finds what went before in `task.parents`. Nothing is written
until the flow is awaited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

import msgspec

from holdfast.client.arguments import check, check_list
from holdfast.client.flow import BoundTask, Flow, Node, new_id
from holdfast.client.option_checks import check_key
from holdfast.client.task_spec import TaskSpec
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError

if TYPE_CHECKING:
    from holdfast.client.task_handle import SyncTaskHandle, TaskHandle

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

Part: TypeAlias = Flow[Any, Any] | TaskSpec


@overload
def chain(last: Flow[T, S], /, *, key: str | None = None) -> Flow[T, S]: ...


@overload
def chain(part1: Part, last: Flow[T, S], /, *, key: str | None = None) -> Flow[T, S]: ...


@overload
def chain(part1: Part, part2: Part, last: Flow[T, S], /, *, key: str | None = None) -> Flow[T, S]: ...


@overload
def chain(part1: Part, part2: Part, part3: Part, last: Flow[T, S], /, *, key: str | None = None) -> Flow[T, S]: ...


@overload
def chain(
    part1: Part, part2: Part, part3: Part, part4: Part, last: Flow[T, S], /, *, key: str | None = None
) -> Flow[T, S]: ...


@overload
def chain(
    part1: Part, part2: Part, part3: Part, part4: Part, part5: Part, last: Flow[T, S], /, *, key: str | None = None
) -> Flow[T, S]: ...


@overload
def chain(*parts: Part, key: str | None = None) -> Flow[Any, Any]: ...


def chain(*parts: Part, key: str | None = None) -> Flow[Any, Any]:
    """A flow of these parts, each after the one before: tasks of `handler.bind(…)`, TaskSpecs, or flows. With a `key`
    the ids of its tasks come from it: the same chain under the same key is submitted once.

    Raises InvalidTaskError."""
    if not parts:
        raise InvalidTaskError("chain(): at least one task is expected")
    nodes, ends = list[Node](), tuple[int, ...]()
    for part in parts:
        ends = _add(nodes, part, after=ends)
    return _flow(nodes, ends, key, is_single=_is_single(parts[-1]))


@overload
def gather(parts: Iterable[Part], *, then: Flow[T, S], key: str | None = None) -> Flow[T, S]: ...


@overload
def gather(
    parts: Iterable[Part], *, then: TaskSpec, key: str | None = None
) -> Flow[TaskHandle[Any], SyncTaskHandle[Any]]: ...


@overload
def gather(
    parts: Iterable[Flow[TaskHandle[R], SyncTaskHandle[R]]], *, key: str | None = None
) -> Flow[list[TaskHandle[R]], list[SyncTaskHandle[R]]]: ...


@overload
def gather(
    parts: Iterable[Part], *, key: str | None = None
) -> Flow[list[TaskHandle[Any]], list[SyncTaskHandle[Any]]]: ...


def gather(parts: Iterable[Part], *, then: Part | None = None, key: str | None = None) -> Flow[Any, Any]:
    """A flow of these parts side by side, and of the task `then` after all of them, whose `task.parents` has their
    results in this order. `key` as for `chain`.

    Raises InvalidTaskError."""
    group = cast("list[Part]", check_list("parts", parts, "tasks of handler.bind(), TaskSpecs or flows"))
    nodes, ends = list[Node](), tuple[int, ...]()
    for part in group:
        ends += _add(nodes, part, after=())
    if then is None:
        return _flow(nodes, ends, key, is_single=False)
    if not group:
        raise InvalidTaskError("gather([], then=…): at least one task before it is expected")
    ends = _add(nodes, then, after=ends)
    return _flow(nodes, ends, key, is_single=_is_single(then))


def _is_single(part: Part) -> bool:
    return part.is_single if isinstance(part, Flow) else True


def _add(nodes: list[Node], part: object, *, after: Sequence[int]) -> tuple[int, ...]:
    """Add the tasks of a part behind the others; the places of its last ones."""
    flow = _flow_of(part)
    first = len(nodes)
    for node in flow.nodes:
        parents = tuple(first + place for place in node.parents) or tuple(after)
        nodes.append(replace(node, parents=parents, made_id=new_id()))
    return tuple(first + place for place in flow.ends)


def _flow_of(part: object) -> Flow[Any, Any]:
    if isinstance(part, Flow):
        return cast("Flow[Any, Any]", part)  # type: ignore[redundant-cast]  # pyright does not know of what it is one
    if not isinstance(part, TaskSpec):
        raise InvalidTaskError(f"{shown(part)}: a task of handler.bind(), a TaskSpec or a flow is expected")
    check(part)
    return BoundTask[Any](part)


def _flow(nodes: Sequence[Node], ends: Sequence[int], key: str | None, *, is_single: bool) -> Flow[Any, Any]:
    if key is not None:
        check_key("key", key)
        nodes = [_keyed(node, f"{key}/{number}") for number, node in enumerate(nodes, 1)]
    return Flow(nodes, ends, is_single=is_single)


def _keyed(node: Node, key: str) -> Node:
    has_id = node.spec.task_id is not None or node.spec.key is not None or _stands_for_others(node.spec)
    return node if has_id else replace(node, spec=msgspec.structs.replace(node.spec, key=key))


def _stands_for_others(spec: TaskSpec) -> bool:
    return spec.debounce is not None or spec.unique is not None
