"""Flows: tasks that run after each other, submitted in one batch. `chain` and `gather` (compose_flow.py) make them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from os import urandom
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from msgspec.structs import replace

from holdfast.client.arguments import check
from holdfast.client.task_spec import TaskSpec
from holdfast.core.identity import keyed_id, uuid_text
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError

if TYPE_CHECKING:
    from holdfast.client.task_handle import SyncTaskHandle, TaskHandle

R = TypeVar("R", covariant=True)
T = TypeVar("T", covariant=True)
S = TypeVar("S", covariant=True)

Read = Callable[[Any], Any]


def new_id() -> str:
    return uuid_text(urandom(16), 4)


@dataclass(frozen=True, slots=True)
class Node:
    """One task of a flow. `parents`: the places in the flow of those that it runs after, which come before it;
    `made_id`: its id, where its producer gives neither an id nor a key."""

    spec: TaskSpec
    read: Read | None = None
    parents: tuple[int, ...] = ()
    made_id: str = field(default_factory=new_id)

    def task_id(self, queue: str) -> str:
        if self.spec.task_id is None and self.spec.key is not None:
            return keyed_id(queue, self.spec.key)
        return self.spec.task_id or self.made_id


class Flow(Generic[T, S]):
    """Tasks that are submitted together, each behind those that it runs after. Awaited, it is submitted, and gives the
    handle of its last task, or a list of handles (`gather` without `then`). Awaited again, it is the same tasks.
    """

    def __init__(self, nodes: Sequence[Node], ends: Sequence[int] = (0,), *, is_single: bool = True) -> None:
        """`ends`: the places of the last tasks. Raises InvalidTaskError."""
        self.nodes, self.ends, self.is_single = tuple(nodes), tuple(ends), is_single
        for parent in {place for node in nodes for place in node.parents}:
            _check_has_an_id(nodes[parent].spec)

    def specs(self, queue: str) -> list[TaskSpec]:
        """The tasks for `run_tasks` of a manager of this queue; the same each time. Raises InvalidTaskError."""
        ids = [node.task_id(queue) for node in self.nodes]
        if twice := next((each for place, each in enumerate(ids) if each in ids[:place]), None):
            raise InvalidTaskError(f"task_id {shown(twice)}: two tasks of a flow have it: ids are unique")
        return [_submitted(node, ids) for node in self.nodes]

    def __await__(self) -> Generator[Any, None, T]:
        return self.submit().__await__()

    async def submit(self) -> T:
        """Submit the tasks with the manager in scope, as `submit` of a registered handler. Raises InvalidTaskError, and
        the errors of TaskManager.run_flow."""
        handles = await self._handles()
        return cast("T", handles[0] if self.is_single else handles)

    def submit_sync(self) -> S:
        """As `submit`, for code without async; handles without async."""
        from holdfast.client.sync_call import call_sync
        from holdfast.client.task_handle import SyncTaskHandle

        handles: list[SyncTaskHandle[Any]] = [
            SyncTaskHandle(each.task_id, each.read) for each in call_sync(self._handles)
        ]
        return cast("S", handles[0] if self.is_single else handles)

    async def _handles(self) -> list[TaskHandle[Any]]:
        from holdfast.client.manager_in_scope import current_manager
        from holdfast.client.task_handle import TaskHandle

        manager = await current_manager()
        ids = await manager.run_flow(self)
        return [TaskHandle(ids[place], manager, self.nodes[place].read) for place in self.ends]


class BoundTask(Flow["TaskHandle[R]", "SyncTaskHandle[R]"], Generic[R]):
    """A task with its arguments: a flow of one."""

    def __init__(self, spec: TaskSpec, read: Read | None = None) -> None:
        """`read` converts its JSON value to the return type of the handler."""
        super().__init__([Node(spec, read)])


def _check_has_an_id(spec: TaskSpec) -> None:
    """Other tasks name their parents by ids: the task that stands for a parent must be itself."""
    for option in ("unique", "debounce"):
        if getattr(spec, option) is not None:
            raise InvalidTaskError(
                f"{option} {shown(getattr(spec, option))}: another task may stand for this one, so no task of a flow "
                "can run after it; use key, which makes its id"
            )


def _submitted(node: Node, ids: Sequence[str]) -> TaskSpec:
    after = (*(node.spec.after or ()), *(ids[place] for place in node.parents))
    named = {} if node.spec.task_id or node.spec.key is not None else {"task_id": node.made_id}
    spec = replace(node.spec, after=list(dict.fromkeys(after)) or None, **named)
    check(spec)
    return spec
