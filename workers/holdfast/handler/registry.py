"""A registry of handlers, for an application with more than one.

handlers = Handlers()

@handlers.register("billing.send_statement")
async def send_statement(region: str, task: Task) -> dict[str, int]: ...

@handlers.default
async def answer(messages): ...

handlers.schedule("statements", cron="0 6 1 * *", name="billing.send_statement", kwargs={"region": "eu"})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from msgspec import structs

from holdfast.client.arguments import check
from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.client.task_spec import TaskSpec, keywords_after_one
from holdfast.core.plain_json import shown
from holdfast.errors import HandlerError, InvalidScheduleError, InvalidTaskError
from holdfast.handler.decorator import HandlerDecorator, L, M
from holdfast.handler.handler import Handler, HandlerFunction, HandlerOptions, callee, inspect_middleware
from holdfast.handler.lifespan import Lifespan, inspect_lifespan
from holdfast.handler.registered_handler import RegisteredHandler
from holdfast_config import Settings
from holdfast_config.lanes import Lane

F = TypeVar("F", bound=Callable[..., Any])

NAME_LENGTH = 200


class Handlers(Generic[L, M]):
    """A registry of handlers by name, with at most one default handler for operations that name no handler. Registering
    raises HandlerError for a handler that could not be called. `Handlers[Pool]()` tells type checkers that a lifespan's
    value is a Pool. Two values are `Handlers[Pool, Model]()`, and handlers take them in this order."""

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: object) -> type[Handlers]:
            """Return the class itself. The types are only for type checkers, and defaults of type parameters need a
            later Python."""
            return cls

    def __init__(self) -> None:
        self._named: dict[str, HandlerFunction] = {}
        self._default: HandlerFunction | None = None
        self._schedules: dict[str, ScheduleSpec] = {}
        self._lifespans: list[Lifespan] = []
        self._middleware: list[Callable[..., Any]] = []

    def register(
        self,
        name: str,
        *,
        max_attempts: int | None = None,
        timeout: float | None = None,
        concurrency: int | None = None,
        lane: str | None = None,
        thread: Literal["main"] | None = None,
    ) -> HandlerDecorator[L, M]:
        """A decorator: tasks that name `name` run this function, with their kwargs converted by its annotations.

        It returns a RegisteredHandler, which is called like the function, and whose `submit` takes the function's
        arguments. `max_attempts` and `timeout` (seconds) override the worker's settings, and a task's own values
        override these. At most `concurrency` tasks of this handler run at once in one worker. A producer with this
        registry submits them to `lane`. With `thread="main"` a plain function runs in the main thread of a worker
        process, where it may use signals; each worker then runs one such task at a time. Raises HandlerError.
        """
        if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
            raise HandlerError(f"handler name {shown(name)}: 1 to {NAME_LENGTH} characters are allowed")
        if name in self._named:
            raise HandlerError(f"handler name {name!a} is registered twice: names are unique")
        options = HandlerOptions(max_attempts, timeout, concurrency, lane, thread)
        options.check(f"the handler {name!a}")

        def keep(function: Callable[..., Any]) -> RegisteredHandler[..., Any, ..., Any, Any]:
            self._named[name] = callee(
                function, f"the handler {name!a}", named=True, options=options, types=self._types
            )
            return RegisteredHandler(name, lambda: self._present(name), self.schedule)

        return cast("HandlerDecorator[L, M]", keep)

    @keywords_after_one(ScheduleSpec)
    def schedule(self, schedule_id: str, /, **spec: Any) -> None:
        """Define a schedule of this application, with the arguments of ScheduleSpec. The application's workers declare
        it.

        Each planned run creates one task, whatever the number of workers and hosts that declare the schedule. If the
        application has a name (the setting `application`), a schedule that no live worker declares any more is removed.
        Raises HandlerError.
        """
        from holdfast.client.schedule_definition import define, read_spec

        if schedule_id in self._schedules:
            raise HandlerError(f"schedule {shown(schedule_id)} is defined twice: ids are unique")
        try:
            read = read_spec(spec)
            define(schedule_id, read, now=0)
        except InvalidScheduleError as error:
            raise HandlerError(f"schedule {shown(schedule_id)}: {error}") from error
        self._schedules[schedule_id] = read

    def named(self) -> Mapping[str, HandlerFunction]:
        """The functions registered so far, by name."""
        return {name: self._present(name) for name in self._named}

    def fitted(self, spec: TaskSpec) -> TaskSpec:
        """The task of a named handler, with checked arguments and the handler's lane. Raises InvalidTaskError."""
        check(spec)
        if spec.name is None:
            return spec
        known = self.named()
        if spec.name not in known:
            names = ", ".join(sorted(known)) or "none"
            raise InvalidTaskError(f"name {shown(spec.name)}: no such handler; registered: {names}"[:500])
        one = known[spec.name]
        try:
            one.signature.fit(spec.kwargs or {})
        except ValueError as misfit:
            raise InvalidTaskError(f"{spec.name}: {misfit}"[:1000]) from None
        return structs.replace(spec, lane=spec.lane or one.options.lane)

    def default(self, function: F) -> F:
        """A decorator: operations that name no handler run this function."""
        if self._default is not None:
            raise HandlerError("a second default handler: only one is allowed")
        self._default = callee(function, "the default handler", named=False, types=self._types)
        return function

    def lifespan(self, function: F) -> F:
        """A decorator: each worker runs this generator up to its yield before the worker is ready, and the rest at the
        worker's end. The yielded value is passed to parameters of its type, in handlers, middleware and later
        lifespans. An error before the yield keeps the worker from starting. Raises HandlerError."""
        self._lifespans.append(inspect_lifespan(function, self._types))
        self._default = self._default and self._default.with_types(self._types)
        self._named = {name: each.with_types(self._types) for name, each in self._named.items()}
        return function

    def use(self, middleware: F) -> F:
        """Call this function around each handler, inside of the middleware that was registered before. Its arguments
        are `task` and `call`: `call()` runs the handler, returns its value and raises its exceptions. Also a decorator.
        Raises HandlerError."""
        inspect_middleware(middleware, self._types)
        self._middleware.append(middleware)
        return middleware

    def _present(self, name: str) -> HandlerFunction:
        """The handler of this name. It is inspected again if some of its annotations were not known at its
        registration."""
        function = self._named[name]
        if function.signature.unknown:
            function = self._named[name] = function.with_types(self._types)
        return function

    @property
    def _types(self) -> tuple[Any, ...]:
        return tuple(each.provides for each in self._lifespans if each.provides is not None)

    def frozen(self, target: str) -> Handler:
        """The handler that a worker runs; call this when the import is over. Raises HandlerError if nothing has been
        registered, or if the annotation of an argument cannot be looked up."""
        if not self._named and self._default is None:
            raise HandlerError(f"{target} is a registry without handlers: register at least one")
        for schedule_id, spec in self._schedules.items():
            if spec.name is not None and spec.name not in self._named:
                raise HandlerError(
                    f"schedule {shown(schedule_id)} calls handler {shown(spec.name)}, but {target} has no such handler"
                )
        around = tuple(inspect_middleware(each, self._types) for each in self._middleware)
        default = self._default and replace(self._default, middleware=around)
        functions = self.named()
        _refuse_unknown(functions.values())
        named = {name: replace(function, middleware=around) for name, function in functions.items()}
        return Handler(target, default, named, dict(self._schedules), lifespans=tuple(self._lifespans))


def _refuse_unknown(functions: Iterable[HandlerFunction]) -> None:
    for function in functions:
        if unknown := function.signature.unknown:
            listed = "; ".join(f"{name}: {', '.join(names)}" for name, names in sorted(unknown.items()))
            raise HandlerError(
                f"{function.what}: these annotations cannot be looked up: {listed}. Import or define these names in "
                "the module of the function, not only under TYPE_CHECKING. Or annotate with Any a parameter that needs "
                "no check"
            )


# Merges the handler's lanes into the settings.


def settled(handler: Handler, settings: Settings, *, may_choose: bool) -> Settings:
    """The settings of a worker that runs this handler. Lanes and timeouts of the settings override those of the
    handler.

    `may_choose`: the handler alone may choose the lanes. Otherwise settings that name none of its lanes are refused
    with HandlerError, because other processes must know the lanes, too.
    """
    if not handler.lanes:
        return settings
    if set(settings.lane_names).isdisjoint(lane.name for lane in handler.lanes):
        if not may_choose:
            named = ",".join(str(lane) for lane in handler.lanes)
            raise HandlerError(
                f"{handler.target} takes tasks from lanes that the settings do not name: set --lanes '{named}'"
            )
        return settings.model_copy(update={"lanes": handler.lanes})
    return settings.model_copy(update={"lanes": tuple(_timed(lane, handler.lanes) for lane in settings.lanes)})


def _timed(lane: Lane, known: tuple[Lane, ...]) -> Lane:
    own = next((one.timeout for one in known if one.name == lane.name), None)
    return replace(lane, timeout=own) if lane.timeout is None else lane
