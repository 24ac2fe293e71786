"""The act of submitting: one task, or a list of tasks, in the fields of TaskSpec."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ParamSpec, TypedDict, TypeVar

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_name
from holdfast.client.manager import TaskManager
from holdfast.client.submission import Draft, refusal
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Receipt, Submission
from holdfast.core.identity import first_message_id
from holdfast.core.plain_json import shown
from holdfast.core.published_handlers import KeptHandler
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, InvalidTaskError, StoreUnavailableError
from holdfast.store import Store
from holdfast.why.outlook import missing
from holdfastd.operations.act import Act, Doing
from holdfastd.operations.known import MOST, known_handlers, meant
from holdfastd.operations.notes import AskedChange
from holdfastd.operations.reading import similar

P = ParamSpec("P")
T = TypeVar("T")

MOST_TASKS = 1000  # tasks in one request
UNCHECKED = "unchecked"  # the option that submits without checks

TaskSpecs = Annotated[list[TaskSpec], Meta(min_length=1, max_length=MOST_TASKS)]


Unchecked = Annotated[
    bool, Meta(description="Accept handlers and arguments that do not fit what workers have published.")
]


class SubmitTasks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The tasks. All are checked before the first is written."""

    tasks: TaskSpecs
    unchecked: Unchecked = False


class TaskReceipt(TypedDict):
    """`answer`: new; duplicate (the task was submitted before); turn or pending (another producer made the task, and
    the submission is one more message for it)."""

    task_id: str
    answer: str


async def submit_tasks(doing: Doing, given: SubmitTasks) -> list[TaskReceipt]:
    """Submit one task, or a list of tasks. The handler of each task, and its arguments, must fit what live workers have
    published."""
    call = HandlerCalls.of(doing, unchecked=given.unchecked)
    fitted = [await _fitted(call, place, spec, len(given.tasks)) for place, spec in enumerate(given.tasks)]
    specs = [_identified(spec) for spec in fitted]
    if not all(call.found.values()):
        doing.asked.hint = await doing.call(unpublished, doing.store, call)
    batch = [_prepared(doing, place, spec, len(specs)) for place, spec in enumerate(specs)]
    receipts = await doing.manager.submit(batch)
    judged = _judged(batch, receipts)
    errors = [error for _, _, error in judged if error]
    accepted = [receipt for _, receipt, error in judged if not error]
    name_submitted(doing.asked, (accepted or receipts)[0].task_id, len(accepted), len(errors))
    if errors and len(specs) > 1:
        text = (
            f"{len(errors)} of {len(specs)} tasks were refused, and the others accepted; the first refusal: {errors[0]}"
        )
        raise type(errors[0])(text)
    if errors:
        raise errors[0]
    return [{"task_id": each.task_id, "answer": str(each.accepted)} for each in receipts]


Judged = tuple[Submission, Receipt, HoldfastError | None]  # the error: why the store refused the task


async def submit_window(manager: TaskManager, drafts: Sequence[Draft]) -> list[Judged]:
    """Submit a part of a long list."""
    return _judged(*await manager.submitter.submit_drafts(drafts))


def _judged(batch: Sequence[Submission], receipts: Sequence[Receipt]) -> list[Judged]:
    return [(one, receipt, refusal(one, receipt)) for one, receipt in zip(batch, receipts, strict=True)]


def name_submitted(
    asked: AskedChange, first: str, accepted: int, refused: int, error: HoldfastError | None = None
) -> None:
    """Name the submitted tasks for Activity. `error`: why the rest was not submitted."""
    asked.subject = named(first, accepted)
    asked.refusal = str(error) if error else f"{counted(refused, 'task')} refused" if refused else ""
    asked.done = accepted


def named(first: str, count: int) -> str:
    """Tasks as Activity names them: `a1`, or `a1 and 7 more`."""
    return f"{first} and {count - 1} more" if count > 1 else first


def _prepared(doing: Doing, place: int, spec: TaskSpec, count: int) -> Submission:
    try:
        return doing.manager.prepare(spec)
    except InvalidTaskError as error:
        if count > 1:
            error.add_note(f"[{place}]")
        raise


async def _fitted(call: HandlerCalls, place: int, spec: TaskSpec, count: int) -> TaskSpec:
    try:
        return await call.fitted(spec)
    except InvalidTaskError as error:
        if count > 1:
            error.add_note(f"[{place}]")
        raise


@dataclass(slots=True)
class HandlerCalls:
    """Checks tasks against the handlers that workers have published. `queue`: the lane of tasks that name none.
    `unchecked`: nothing is refused. `switch`: how one sets `unchecked`, in the words of the operator's interface; empty
    if the interface does not have it. `found`: the handlers that were read, so that each is read once. `served`: the
    lanes that are known to take tasks without a name. `is_away`: Redis could not be asked, and PostgreSQL accepts the
    tasks."""

    store: Store
    queue: str
    retries: SubmitRetries | None = None  # None: one attempt
    unchecked: bool = False
    switch: str = ""
    found: dict[str, KeptHandler | None] = field(default_factory=dict[str, KeptHandler | None])
    served: set[str] = field(default_factory=set[str])
    is_away: bool = False

    @classmethod
    def of(cls, doing: Doing, *, unchecked: bool) -> HandlerCalls:
        """The checks for an act of an operator."""
        switch = doing.operator.face.switch(UNCHECKED)
        return cls(doing.store, doing.settings.queue_name, doing.retries, unchecked, switch)

    async def fitted(self, spec: TaskSpec) -> TaskSpec:
        """The task with the lane of its handler. Raises InvalidTaskError if no published schema allows its arguments,
        for a misspelt handler, and for a task without a handler that no live worker of its lane takes. While Redis is
        away, PostgreSQL accepts tasks without these checks."""
        if self.is_away:
            return spec
        try:
            return await self._checked(spec)
        except StoreUnavailableError:
            if not self.store.with_ledger:
                raise
            self.is_away = True
            return spec

    async def _checked(self, spec: TaskSpec) -> TaskSpec:
        if spec.name is None:
            if spec.task_id is None:  # with an id, it may be one more message for a task of a named handler
                await self.check_default(spec.lane or self.queue)
            return spec
        handler = await self.called(spec.name, spec.kwargs or {})
        return msgspec.structs.replace(spec, lane=spec.lane or handler.lane or None) if handler else spec

    async def check_default(self, lane: str) -> None:
        """Raises InvalidTaskError if live workers of the lane have named handlers, but no default handler."""
        if self.unchecked or lane in self.served or await self._published(""):
            return
        if known := await self._unable(lane, ""):
            named = ", ".join(sorted(known)[:MOST])
            raise InvalidTaskError(f"name: is missing; {missing(lane, '')}; name a handler, for example: {named}")
        self.served.add(lane)

    async def check_named(self, lane: str, name: str) -> None:
        """Raises InvalidTaskError if live workers of the lane have handlers, but neither this one nor a default
        handler. For an interface whose users can neither see a warning nor submit without checks."""
        if known := await self._unable(lane, name):
            raise InvalidTaskError(f"name: {missing(lane, shown(name))}; {meant(name, known)}")

    async def _unable(self, lane: str, name: str) -> set[str]:
        """The names of all published handlers, if live workers of the lane have handlers, but none for this name."""
        (state,) = await self._call(self.store.service, [(lane, name)])
        return await self._names() if state.in_lane and not state.able else set()

    async def called(self, name: str, kwargs: Mapping[str, object]) -> KeptHandler | None:
        """The handler of this name; None if no live worker has published it. Raises InvalidTaskError for arguments that
        no published schema allows, and for a name that is nearly the name of another handler."""
        check_name(name)
        handler = await self._published(name)
        if handler is None and not self.unchecked and name not in await self._call(known_handlers, self.store):
            near = meant(name, await self._names())
            if near.endswith("?"):
                switch = f" (for a handler that is still to come {self.switch})" if self.switch else ""
                raise InvalidTaskError(f"name: no live worker has the handler {shown(name)}: {near}{switch}")
        if handler and not self.unchecked and (misfits := handler.misfits(kwargs)):
            named = set(handler.arguments.get("properties", ())) if handler.arguments else set[str]()
            told = [_told(place, why, named.difference(kwargs)) for place, why in misfits]
            raise InvalidTaskError(f"kwargs: {name}: {'; '.join(told)}"[:1000])
        return handler

    async def _published(self, name: str) -> KeptHandler | None:
        if name not in self.found:
            self.found[name] = await self._call(self.store.kept_handler, name)
        return self.found[name]

    async def _call(self, method: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        if self.retries is None or self.store.with_ledger:  # with PostgreSQL, no task waits for a check
            return await method(*args, **kwargs)
        return await self.retries.call(method, *args, **kwargs)

    async def _names(self) -> set[str]:
        return {each.name for each in await self._call(self.store.published_handlers) if each.name}


WRAPPERS = frozenset({"kwargs", "args", "arguments", "data"})  # names under which arguments are put by mistake


def _told(place: str, why: str, free: set[str]) -> str:
    if place in WRAPPERS and place not in free:
        return f"{place}: {why}; give the arguments themselves, not an object `{place}` with them"
    found = similar(place, free, 1)
    return f"{place}: {why}" + (f", did you mean {found[0]}?" if found and place not in free else "")


async def unpublished(store: Store, call: HandlerCalls) -> str:
    """The line about the first handler that no live worker has published; empty if workers publish nothing at all."""
    known = await known_handlers(store)
    unknown = next((name for name, handler in call.found.items() if name and handler is None), "")
    if not known or not unknown or unknown in known:
        return ""
    return f"no live worker has the handler {shown(unknown)}: {meant(unknown, known)}"


def _identified(spec: TaskSpec) -> TaskSpec:
    if spec.task_id is None or spec.message_id is not None or spec.key is not None:
        return spec
    return msgspec.structs.replace(spec, message_id=first_message_id(spec.task_id))


SUBMIT_TASKS = Act("tasks/submit", SubmitTasks, submit_tasks, "task_id")
