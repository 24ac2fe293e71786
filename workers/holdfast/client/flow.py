"""Flows: tasks that run after each other, submitted in one batch. `chain` and `gather` make them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast, overload

import msgspec

from holdfast.client.arguments import check, check_key, check_list
from holdfast.client.batch import FlowTasks, Node, Read, new_id
from holdfast.client.manager import TaskManager
from holdfast.client.manager_in_scope import call_sync, current_manager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import EmittedPart
from holdfast.core.plain_json import shown
from holdfast.core.progress import Progress
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import InvalidTaskError

R_co = TypeVar("R_co", covariant=True)
T_co = TypeVar("T_co", covariant=True)
S_co = TypeVar("S_co", covariant=True)
if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    V_co = TypeVarWithDefault("V_co", covariant=True, default=Any)
    N_contra = TypeVarWithDefault("N_contra", contravariant=True, default=Any)
else:
    V_co = TypeVar("V_co", covariant=True)
    N_contra = TypeVar("N_contra", contravariant=True)


class Flow(FlowTasks, Generic[T_co, S_co, V_co, N_contra]):
    """Tasks that are submitted together, parents before children. `await flow` submits it, and returns the handle of
    its last task, or a list of handles (`gather` without `then`). Awaiting it again submits no new tasks.

    For type checkers: `V_co` is the type that its last tasks return, and `N_contra` that of the ParentValues that its
    first tasks take (`object`: they take none). `chain` and `gather` check that they fit.
    """

    def __await__(self) -> Generator[Any, None, T_co]:
        return self.submit().__await__()

    async def submit(self) -> T_co:
        """Submit the tasks with the manager in scope, like `submit` of a registered handler does. Raises
        InvalidTaskError and the errors of TaskManager.run_flow."""
        handles = await self._handles()
        return cast("T_co", handles[0] if self.is_single else handles)

    def submit_sync(self) -> S_co:
        """Submit the tasks from code without async; returns SyncTaskHandles. See `submit`."""
        handles: list[SyncTaskHandle[Any]] = [
            SyncTaskHandle(each.task_id, each.read) for each in call_sync(self._handles)
        ]
        return cast("S_co", handles[0] if self.is_single else handles)

    async def _handles(self) -> list[TaskHandle[Any]]:
        manager = await current_manager()
        ids = await manager.run_flow(self)
        return [TaskHandle(ids[place], manager, self.nodes[place].read) for place in self.ends]


class BoundTask(Flow["TaskHandle[R_co]", "SyncTaskHandle[R_co]", R_co, N_contra], Generic[R_co, N_contra]):
    """A task with its arguments; it is also a flow of one task."""

    def __init__(self, spec: TaskSpec, read: Read | None = None) -> None:
        """Make a task from its spec. `read` converts the task's result from JSON to the return type of the handler."""
        super().__init__([Node(spec, read)])


# Make flows of tasks: one after the other (`chain`), or side by side (`gather`).
#
#     report = await gather([count.bind(page) for page in pages], then=total.bind())
#     record = await report.wait(timeout=60, raise_failed=True)
#
# Both only set the option `after` of tasks: a handler finds the results of the tasks before it in `task.parents`.
# Nothing is written until the flow is awaited.

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")

Part: TypeAlias = Flow[Any, Any, Any, Any] | TaskSpec


A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
N = TypeVar("N")


# The values that a part returns must fit the ParentValues of the next part. A TaskSpec fits everywhere. After the
# fourth part type checkers look no further.


@overload
def chain(a: Flow[T, S, B, N], /, *, key: str | None = None) -> Flow[T, S, B, N]: ...


@overload
def chain(
    a: Flow[Any, Any, A, N] | TaskSpec, b: Flow[T, S, B, A], /, *, key: str | None = None
) -> Flow[T, S, B, N]: ...


@overload
def chain(
    a: Flow[Any, Any, A, N] | TaskSpec,
    b: Flow[Any, Any, B, A] | TaskSpec,
    c: Flow[T, S, C, B],
    /,
    *,
    key: str | None = None,
) -> Flow[T, S, C, N]: ...


@overload
def chain(
    a: Flow[Any, Any, A, N] | TaskSpec,
    b: Flow[Any, Any, B, A] | TaskSpec,
    c: Flow[Any, Any, C, B] | TaskSpec,
    d: Flow[T, S, D, C],
    /,
    *,
    key: str | None = None,
) -> Flow[T, S, D, N]: ...


@overload
def chain(
    a: Flow[Any, Any, A, N] | TaskSpec,
    b: Flow[Any, Any, B, A] | TaskSpec,
    c: Flow[Any, Any, C, B] | TaskSpec,
    d: Flow[Any, Any, Any, C] | TaskSpec,
    e: Part,
    /,
    *rest: Part,
    key: str | None = None,
) -> Flow[Any, Any, Any, N]: ...


@overload
def chain(
    *parts: *tuple[*tuple[Flow[Any, Any, Any, object] | TaskSpec, ...], TaskSpec], key: str | None = None
) -> Flow[TaskHandle[Any], SyncTaskHandle[Any]]: ...


def chain(*parts: Part, key: str | None = None) -> Flow[Any, Any]:  # type: ignore[misc]  # mypy fits no unpacked tuple
    """A flow that runs these parts one after the other. A part is a task of `handler.bind(…)`, a TaskSpec or a flow. A
    `key` makes the ids of the tasks: a second submission of the same chain with the same key adds nothing.

    Raises InvalidTaskError."""
    if not parts:
        raise InvalidTaskError("chain(): at least one task is expected")
    nodes, ends = list[Node](), tuple[int, ...]()
    for part in parts:
        ends = _add(nodes, part, after=ends)
    return _flow(nodes, ends, key, is_single=_is_single(parts[-1]))


@overload
def gather(
    parts: Iterable[Flow[Any, Any, A, N] | TaskSpec], *, then: Flow[T, S, B, A], key: str | None = None
) -> Flow[T, S, B, N]: ...


@overload
def gather(
    parts: Iterable[Part], *, then: TaskSpec, key: str | None = None
) -> Flow[TaskHandle[Any], SyncTaskHandle[Any]]: ...


@overload
def gather(
    parts: Iterable[Flow[TaskHandle[R], SyncTaskHandle[R], R, N]], *, key: str | None = None
) -> Flow[list[TaskHandle[R]], list[SyncTaskHandle[R]], R, N]: ...


@overload
def gather(
    parts: Iterable[Part], *, key: str | None = None
) -> Flow[list[TaskHandle[Any]], list[SyncTaskHandle[Any]]]: ...


def gather(parts: Iterable[Part], *, then: Part | None = None, key: str | None = None) -> Flow[Any, Any]:
    """A flow that runs these parts side by side, and then the task `then`. The handler of `then` finds the results of
    the parts in `task.parents`, in the same order. `key`: see `chain`.

    Raises InvalidTaskError."""
    group = cast("list[Part]", check_list("parts", parts, "tasks of handler.bind(), TaskSpecs or flows"))
    nodes, ends = list[Node](), tuple[int, ...]()
    for part in group:
        ends += _add(nodes, part, after=())
    if then is None:
        return _flow(nodes, ends, key, is_single=False)
    if not group:
        raise InvalidTaskError("gather([], then=…): name at least one task that runs before `then`")
    ends = _add(nodes, then, after=ends)
    return _flow(nodes, ends, key, is_single=_is_single(then))


def _is_single(part: Part) -> bool:
    return part.is_single if isinstance(part, Flow) else True


def _add(nodes: list[Node], part: object, *, after: Sequence[int]) -> tuple[int, ...]:
    """Append the tasks of a part to `nodes`. Its first tasks run after the nodes `after`. Returns the indexes of its
    last tasks."""
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
    return BoundTask[Any, Any](part)


def _flow(nodes: Sequence[Node], ends: Sequence[int], key: str | None, *, is_single: bool) -> Flow[Any, Any]:
    if key is not None:
        check_key("key", key)
        nodes = [_keyed(node, f"{key}/{number}") for number, node in enumerate(nodes, 1)]
    return Flow(nodes, ends, is_single=is_single)


def _keyed(node: Node, key: str) -> Node:
    """The task with this key. The task stays unchanged if it has an id or a key of its own. It also stays unchanged if
    it has an option (`unique`, `debounce`) by which the store may drop it as a duplicate."""
    spec = node.spec
    if any(each is not None for each in (spec.task_id, spec.key, spec.debounce, spec.unique)):
        return node
    return replace(node, spec=msgspec.structs.replace(spec, key=key))


# Handles of submitted tasks: with one, a producer waits for its task, reads it or cancels it.


@dataclass(frozen=True, slots=True)
class TaskHandle(Generic[R_co]):
    """A handle of a task that the store accepted. `read` converts its result from JSON to the handler's return type."""

    task_id: str
    manager: TaskManager = field(repr=False)
    read: Read | None = field(default=None, repr=False)

    @overload
    async def wait(self, timeout: float | None = None, *, raise_failed: Literal[True]) -> TaskRecord[R_co]: ...

    @overload
    async def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R_co | None]: ...

    async def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R_co | None]:
        """Wait until the task has ended or asks for input. Returns the record; its `value` has the handler's return
        type.

        Raises TimeoutError after `timeout` seconds. With `raise_failed`, raises TaskFailed with the worker's traceback
        if the task did not complete.
        """
        return replace(await self.manager.wait(self.task_id, timeout, raise_failed=raise_failed), read=self.read)

    def stream(self, *, after: int = 0) -> AsyncGenerator[EmittedPart]:
        """The parts that the task emits, as they come, until it has ended or asks for input: see TaskManager.stream."""
        return self.manager.stream(self.task_id, after=after)

    def progress(self) -> AsyncGenerator[Progress]:
        """The progress that the handler shows, until the task has ended or asks for input: see TaskManager.progress."""
        return self.manager.progress(self.task_id)

    async def record(self) -> TaskRecord[R_co | None]:
        """The task as it is now; raises UnknownTaskError."""
        return replace(await self.manager.get_task(self.task_id), read=self.read)

    async def cancel(self, reason: str = "canceled by a producer") -> State:
        """Cancel the task if it has not ended; returns its state afterwards."""
        return await self.manager.cancel_task(self.task_id, reason)


@dataclass(frozen=True, slots=True)
class SyncTaskHandle(Generic[R_co]):
    """A TaskHandle for code without async: its methods block."""

    task_id: str
    read: Read | None = field(default=None, repr=False)

    @overload
    def wait(self, timeout: float | None = None, *, raise_failed: Literal[True]) -> TaskRecord[R_co]: ...

    @overload
    def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R_co | None]: ...

    def wait(self, timeout: float | None = None, *, raise_failed: bool = False) -> TaskRecord[R_co | None]:
        """Wait until the task has ended or asks for input. Returns the record; its `value` has the handler's return
        type.

        Raises TimeoutError after `timeout` seconds. With `raise_failed`, raises TaskFailed with the worker's traceback
        if the task did not complete.
        """
        return self._call(lambda handle: handle.wait(timeout, raise_failed=raise_failed))

    def stream(self, *, after: int = 0) -> Iterator[EmittedPart]:
        """The parts that the task emits, as they come, until it has ended or asks for input: see TaskManager.stream."""
        yield from _items(call_sync(self._handle).stream(after=after))

    def progress(self) -> Iterator[Progress]:
        """The progress that the handler shows, until the task has ended or asks for input: see TaskManager.progress."""
        yield from _items(call_sync(self._handle).progress())

    def record(self) -> TaskRecord[R_co | None]:
        """The task as it is now; raises UnknownTaskError."""
        return self._call(lambda handle: handle.record())

    def cancel(self, reason: str = "canceled by a producer") -> State:
        """Cancel the task if it has not ended; returns its state afterwards."""
        return self._call(lambda handle: handle.cancel(reason))

    async def _handle(self) -> TaskHandle[R_co]:
        """The async handle, with the manager of the event loop that serves the call."""
        return TaskHandle(self.task_id, await current_manager(), self.read)

    def _call(self, method: Callable[[TaskHandle[R_co]], Awaitable[R]]) -> R:
        async def call() -> R:
            return await method(await self._handle())

        return call_sync(call)


def _items(items: AsyncGenerator[R]) -> Iterator[R]:
    try:
        while (item := call_sync(anext, items, None)) is not None:
            yield item
    finally:
        call_sync(items.aclose)
