"""A registered handler: it is called like the function, and submitted as a task with the function's own arguments.

    sent = await send_statement.submit("eu", copies=2)
    record = await sent.wait(timeout=60)

Arguments are bound, converted to JSON and checked by the annotations before a store is opened or anything is written.
Leave out the arguments that workers fill in: the task, messages, lifespan values.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from holdfast.client.arguments import check, check_list
from holdfast.client.flow import BoundTask, SyncTaskHandle, TaskHandle
from holdfast.client.manager_in_scope import call_sync, current_manager
from holdfast.client.task_spec import NamedSchedule, TaskOptions, TaskSpec, keywords_after_one, keywords_of
from holdfast.core.plain_json import check_json, shown
from holdfast.errors import InvalidTaskError
from holdfast.handler.converters import returned_by
from holdfast.handler.handler import FunctionObject, HandlerFunction
from holdfast.handler.returned_value import to_plain

Called = ParamSpec("Called")
Answered = TypeVar("Answered")
P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    N_contra = TypeVarWithDefault("N_contra", contravariant=True, default=object)
else:
    N_contra = TypeVar("N_contra", contravariant=True)

OF_ONE_TASK = frozenset({"task_id", "message_id", "key"})  # options that two tasks cannot share
OF_SCHEDULED = frozenset(  # options of a task that schedules know, too
    {"lane", "max_attempts", "timeout", "metadata", "expires", "unique", "unique_for", "concurrency_key", "webhook"}
)


class RegisteredHandler(FunctionObject, Generic[Called, Answered, P, R, N_contra]):
    """A handler with a name: the function `Called -> Answered`. Its tasks take the arguments `P` and return a value of
    type `R`. Its ParentValues are of the type `N_contra`, or it has none (`object`).

    Tasks are submitted by the manager in scope: see `holdfast.client.manager_in_scope`.
    """

    def __init__(
        self,
        name: str,
        handler: Callable[[], HandlerFunction],
        define_schedule: Callable[..., None],
        options: Mapping[str, Any] | None = None,
        registered: RegisteredHandler[..., Any, ..., Any, Any] | None = None,
    ) -> None:
        """Make a handler. `handler` returns the present function of this name, because a lifespan that is registered
        later changes the function. `define_schedule`: that of the registry. `registered`: the handler that this one
        copies with other options; None if it is no copy."""
        function = handler().function
        functools.update_wrapper(self, function)
        self.function: Callable[..., Any] = function
        self.name = name
        self.define_schedule = define_schedule
        self._handler = handler
        self._options = options or {}
        self._registered = registered or self

    def __call__(self, *args: Called.args, **kwargs: Called.kwargs) -> Answered:
        """Call the function itself, for example in a test. Nothing is submitted."""
        answer: Answered = self.function(*args, **kwargs)
        return answer

    def __repr__(self) -> str:
        return f"<handler {self.name!r}: {self.function!r}>"

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickle the handler by reference, like a function: by its name in its module."""
        return self.function.__qualname__ if self._registered is self else (_with, (self._registered, self._options))

    @keywords_of(TaskOptions)
    def options(self, **options: Any) -> RegisteredHandler[Called, Answered, P, R, N_contra]:
        """A copy of this handler that submits with these options (fields of TaskSpec) in addition to its own. Raises
        InvalidTaskError."""
        _check_names(options)
        chosen = {**self._options, **options}
        check(TaskSpec(name=self.name, **chosen))
        return RegisteredHandler(self.name, self._handler, self.define_schedule, chosen, self._registered)

    def spec(self, *args: P.args, **kwargs: P.kwargs) -> TaskSpec:
        """A task with these arguments, checked, for `submit_many` and `TaskManager.run_tasks`. Raises
        InvalidTaskError."""
        arguments = self._arguments(args, kwargs)
        check_json("kwargs", arguments)  # the options were checked when they were given
        lane = self._options.get("lane") or self._handler().options.lane
        options: dict[str, Any] = {**self._options, "lane": lane}
        return TaskSpec(name=self.name, kwargs=arguments, **options)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> BoundTask[R, N_contra]:
        """A task with these arguments, checked, for `chain` and `gather`. Raises InvalidTaskError."""
        return BoundTask(self.spec(*args, **kwargs), returned_by(self.function))

    async def submit(self, *args: P.args, **kwargs: P.kwargs) -> TaskHandle[R]:
        """Submit a task with these arguments. Raises InvalidTaskError, and the errors of TaskManager.run_task."""
        return await self._submit(self.spec(*args, **kwargs))

    def submit_sync(self, *args: P.args, **kwargs: P.kwargs) -> SyncTaskHandle[R]:
        """Like `submit`, for code without async. Raises WouldBlockError in a coroutine with an open broker."""
        sent = call_sync(self._submit, self.spec(*args, **kwargs))
        return SyncTaskHandle(sent.task_id, sent.read)

    async def submit_many(self, specs: Iterable[TaskSpec]) -> list[TaskHandle[R]]:
        """Submit a task for each `spec(…)` of this handler, in one batch. All specs are checked before the first task
        is written. Raises InvalidTaskError, and the errors of TaskManager.run_tasks."""
        batch = [self._own(each) for each in check_list("specs", specs, f"values of {self.name}.spec(…)")]
        self._check_distinct(batch)
        manager, read = await current_manager(), returned_by(self.function)
        return [TaskHandle(task_id, manager, read) for task_id in await manager.run_tasks(batch)]

    @keywords_after_one(NamedSchedule)
    def every(self, seconds: float | str, /, *, id: str, **options: Any) -> ScheduledHandler[P]:
        """The handler on the schedule `id`, at a fixed interval: seconds, `5m` or `PT1H`. Options as in
        ScheduleSpec."""
        return ScheduledHandler(self, id, {"every": seconds, **options})

    @keywords_after_one(NamedSchedule)
    def cron(self, cron: str, /, *, id: str, **options: Any) -> ScheduledHandler[P]:
        """The handler on the schedule `id`, at the times of a cron expression; options as in ScheduleSpec."""
        return ScheduledHandler(self, id, {"cron": cron, **options})

    @keywords_after_one(NamedSchedule)
    def rrule(self, rrule: str, /, *, id: str, **options: Any) -> ScheduledHandler[P]:
        """The handler on the schedule `id`, at the times of a recurrence rule (RFC 5545); options as in
        ScheduleSpec."""
        return ScheduledHandler(self, id, {"rrule": rrule, **options})

    @keywords_after_one(NamedSchedule)
    def at(self, at: datetime | float | str, /, *, id: str, **options: Any) -> ScheduledHandler[P]:
        """The handler on the schedule `id`, once, at a moment: a datetime, Unix seconds or ISO 8601. A time without a
        zone is in the zone of the schedule. Options as in ScheduleSpec."""
        moment = at.isoformat() if isinstance(at, datetime) else at
        return ScheduledHandler(self, id, {"at": moment, **options})

    def scheduled(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The task of a schedule, as fields of ScheduleSpec. Raises InvalidTaskError for options that schedules do not
        have."""
        if strange := sorted(self._options.keys() - OF_SCHEDULED):
            allowed = ", ".join(sorted(OF_SCHEDULED))
            raise InvalidTaskError(
                f"{self.name}: options {', '.join(strange)} are for a task, not for a schedule, which takes {allowed}"
            )
        spec = self.spec(*args, **kwargs)
        return {field: getattr(spec, field) for field in ("name", "kwargs", *OF_SCHEDULED)}

    async def _submit(self, spec: TaskSpec) -> TaskHandle[R]:
        manager = await current_manager()
        return TaskHandle(await manager.submitter.run(spec), manager, returned_by(self.function))

    def _arguments(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> dict[str, object]:
        signature = self._handler().signature
        try:
            bound = signature.own.bind(*args, **kwargs)
            plain = {name: to_plain(value) for name, value in _by_name(bound).items()}
            signature.fit(plain)
        except (TypeError, ValueError) as misfit:
            raise InvalidTaskError(f"{self.name}: {misfit}"[:1000]) from None
        return plain

    def _own(self, spec: object) -> TaskSpec:
        if not isinstance(spec, TaskSpec) or spec.name != self.name:
            raise InvalidTaskError(f"specs {shown(spec)}: make each of them with {self.name}.spec(…)")
        return spec

    def _check_distinct(self, batch: list[TaskSpec]) -> None:
        shared = OF_ONE_TASK & self._options.keys()
        if shared and len(batch) > 1:
            raise InvalidTaskError(
                f"{self.name}: option {min(shared)} is for one task, not for {len(batch)}: set it for each with "
                f"{self.name}.options({min(shared)}=…).spec(…)"
            )


class ScheduledHandler(Generic[P]):
    """A handler and the moments at which it is to run."""

    def __init__(
        self, handler: RegisteredHandler[..., Any, P, Any, Any], schedule_id: str, moments: dict[str, Any]
    ) -> None:
        self.schedule_id = schedule_id
        self._handler, self._moments = handler, moments

    async def schedule(self, *args: P.args, **kwargs: P.kwargs) -> datetime | None:
        """Set the schedule; its tasks get these arguments. Returns its next run. Setting the same schedule again
        changes nothing. Raises InvalidTaskError, InvalidScheduleError, and the errors of `manager.schedules.upsert`."""
        return await self._set(self._handler.scheduled(*args, **kwargs))

    def schedule_sync(self, *args: P.args, **kwargs: P.kwargs) -> datetime | None:
        """Like `schedule`, for code without async."""
        return call_sync(self._set, self._handler.scheduled(*args, **kwargs))

    def declare(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Define the schedule as one of the application, like `handlers.schedule`: the application's workers declare
        it. Its tasks get these arguments. Raises InvalidTaskError and HandlerError."""
        task = self._handler.scheduled(*args, **kwargs)
        self._handler.define_schedule(self.schedule_id, **self._moments, **task)

    async def _set(self, task: dict[str, Any]) -> datetime | None:
        return await (await current_manager()).schedules.upsert(self.schedule_id, **self._moments, **task)


def _with(
    handler: RegisteredHandler[Called, Answered, P, R, N_contra], options: Mapping[str, Any]
) -> RegisteredHandler[Called, Answered, P, R, N_contra]:
    """The handler with these options; pickle calls this."""
    return handler.options(**options)


def _by_name(bound: inspect.BoundArguments) -> dict[str, object]:
    named = dict(bound.arguments)
    for parameter in bound.signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(named.pop(parameter.name, {}))
    return named


def _check_names(given: Mapping[str, object]) -> None:
    known = TaskOptions.__struct_fields__
    if strange := [name for name in given if name not in known]:
        raise InvalidTaskError(f"option {shown(strange[0])} is unknown: {', '.join(sorted(known))} are allowed")
