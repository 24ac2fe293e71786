"""Runs a command's work with the store: opens the store in an event loop, and limits retries. Also makes commands of
acts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterable, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType, NoneType
from typing import Any, TypeVar

import anyio
import click
import msgspec

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_filter import Age
from holdfast.errors import HoldfastError, InvalidTaskError, StoreError, StoreUnavailableError
from holdfast.exits import Exit
from holdfast.store import Store as Store
from holdfast.store import open_store
from holdfast_config import Settings, service_folders
from holdfastd.cli.common import CommandError, Session, options, output
from holdfastd.cli.common.error_report import is_caused_by, single_error
from holdfastd.operations import notes
from holdfastd.operations.act import Act, Doing, Face, Operator, operator_name
from holdfastd.operations.error_statuses import exit_of
from holdfastd.operations.known import NameFilter, unknown_names
from holdfastd.operations.notes import AskedChange
from holdfastd.operations.reading import description_of, kinds_of

T = TypeVar("T")

TERMINAL_RETRIES = SubmitRetries(attempts=4, seconds=5.0)  # short: a person waits at a terminal
LONG_RETRIES = SubmitRetries(attempts=1000, seconds=20.0)  # for long work: a restarted store may load its data
ABSENT = (FileNotFoundError, ConnectionRefusedError)  # no process listens
IN_MEMORY = "with SCHEDULER_TYPE=memory the queue exists only inside its own process: no command can reach it"
NEED_ONE = "start one (supervisor start), or name its folder (--runtime-dir) or a Redis (--redis-url)"
NO_STORE = f"this is the embedded store of a supervisor: {NEED_ONE}"


def ask(session: Session, question: Callable[[Store], Awaitable[T]]) -> T:
    """Ask the store one question and return its answer. The question is retried while the store is away."""
    return converse(session, lambda store: retries_of(session.settings).call(question, store))


def converse(session: Session, work: Callable[[Store], Awaitable[T]]) -> T:
    """Run `work` with the open store and return its result. `work` itself retries and limits its time, if needed."""
    return _interruptible(partial(_with_store, session, work))


def manage(session: Session, work: Callable[[TaskManager], Awaitable[T]], later: SubmitRetries | None = None) -> T:
    """Run `work` with a TaskManager and return its result. `later`: the retries for long work; they apply once the
    store has answered."""
    settings, first = session.settings, retries_of(session.settings)

    async def inside(store: Store) -> T:
        if later is not None:
            await first.call(store.ping)
        return await work(manager_of(store, settings, later or first))

    return converse(session, inside)


def operate(session: Session, act: Act[Any, T], texts: Mapping[str, object], later: SubmitRetries | None = None) -> T:
    """Carry out an act for the operator at this terminal and return its answer. `texts`: the arguments of the act.
    `later`: the retries for long work; they apply once the store has answered."""

    async def inside(store: Store) -> T:
        if later is not None:
            await retries_of(session.settings).call(store.ping)
        return await operate_in(store, session, act, texts, later)

    return converse(session, inside)


def operate_here(session: Session, act: Act[Any, T], texts: Mapping[str, object]) -> T:
    """Carry out an act on the supervisor of this runtime folder and return its answer. The act does not need the store;
    while the store is away, Activity gets no entry."""

    async def inside() -> T:
        _check_reachable(session.settings)
        async with open_store(session.settings.redis, session.settings.postgres) as store:
            return await operate_in(store, session, act, texts, folder=session.runtime_dir)

    return _interruptible(inside)


def _warn(text: str) -> None:
    output.note(text, "warning")


async def operate_in(
    store: Store,
    session: Session,
    act: Act[Any, T],
    texts: Mapping[str, object],
    retries: SubmitRetries | None = None,
    tell: Callable[[str], None] = _warn,
    **surroundings: Any,
) -> T:
    """Carry out an act with an open store and return its answer. Activity gets an entry for the act. If the store does
    not take this entry, the change stands, and `tell` gets a line that says so. `surroundings`: see Doing."""
    settings, retries = session.settings, retries or retries_of(session.settings)
    async with asking(store, act.name, act.subject_of(texts), tell) as asked:
        operator = Operator(asked.who, asked.origin, Face.COMMAND)
        manager = manager_of(store, settings, retries)
        doing = Doing(store, manager, settings, operator, asked, retries, **surroundings)
        return await act.carry_out(doing, act.read_texts(texts))


@asynccontextmanager
async def asking(
    store: Store, change: str, subject: str = "", tell: Callable[[str], None] = _warn
) -> AsyncGenerator[AskedChange]:
    """A context for one change that this command asks for. At its end Activity gets one entry for the change."""

    asked = AskedChange(operator_name(), "the command line", store.note_activity, change, subject)
    try:
        async with notes.noted(asked):
            try:
                yield asked
            except BaseExceptionGroup as group:
                error = single_error(group)
                raise error from error.__cause__
    finally:
        if asked.warning:
            tell(asked.warning)


async def note_unknown(store: Store, session: Session, wanted: NameFilter) -> None:
    """Print a line if a filter, which has found nothing, names a lane or handler that nobody knows."""
    if line := await retries_of(session.settings).call(unknown_names, store, session.settings, wanted):
        _warn(line)


def manager_of(store: Store, settings: Settings, retries: SubmitRetries) -> TaskManager:
    limit = settings.max_message_bytes
    return TaskManager(store, queue=settings.queue_name, max_message_bytes=limit, retries=retries)


async def operate_each(
    store: Store,
    session: Session,
    act: Act[Any, T],
    subjects: Iterable[str],
    others: Mapping[str, object] = MappingProxyType({}),
) -> dict[str, T | HoldfastError]:
    """Carry out an act on each subject. Returns the answer for each, or the error by which it was refused; the other
    subjects are still changed. Raises InvalidTaskError for an invalid argument and StoreError if the store fails: these
    end the work."""
    answers = dict[str, T | HoldfastError]()
    for subject in dict.fromkeys(subjects):
        try:
            answer = await operate_in(store, session, act, {**others, act.subject: subject})
            answers[subject] = answer
        except (InvalidTaskError, StoreError):
            raise
        except HoldfastError as error:
            answers[subject] = error
    return answers


@dataclass(frozen=True, slots=True)
class AnnouncedRetries(SubmitRetries):
    """Retries of calls of the store. When they begin, they print one line with their time limit. `told`: the errors
    that have a line."""

    told: set[str] = field(default_factory=set[str], compare=False)

    def pausing(self, error: BaseException) -> None:
        if str(error) not in self.told:
            self.told.add(str(error))
            output.note(f"{error}: retrying for up to {self.seconds:g} s")


def retries_of(settings: Settings) -> SubmitRetries:
    """The retries of the settings if any of these is set; else the short retries for a terminal."""
    chosen = any(field.startswith("submit_") for field in settings.model_fields_set)
    return SubmitRetries.of(settings.redis.submit) if chosen else TERMINAL_RETRIES


def reach(session: Session) -> None:
    """Check that the store answers before a service starts. Raises StoreUnavailableError."""
    ask(session, lambda store: store.ping())


def _interruptible(work: Callable[[], Awaitable[T]]) -> T:
    """Run the work. An interrupt cancels the work, a second one ends the process at once.

    The event loop alone would cancel only once, and `asyncio.wait_for` of Python 3.11 may swallow that cancellation in
    a Redis call.
    """

    async def run() -> T:
        with anyio.CancelScope() as scope, _interrupts(scope.cancel):
            return await work()
        raise KeyboardInterrupt

    return anyio.run(run, backend_options={"use_uvloop": True})


@contextmanager
def _interrupts(cancel: Callable[[], None]) -> Generator[None]:
    """A context manager: while its block runs, the first SIGINT calls `cancel`, unless this process was started with
    SIGINT ignored."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        cancel()

    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _check_reachable(settings: Settings) -> None:
    if settings.scheduler_type == "memory":
        raise CommandError(IN_MEMORY, Exit.CONFIG)


async def _with_store(session: Session, inside: Callable[[Store], Awaitable[T]]) -> T:
    _check_reachable(session.settings)
    if session.settings.embedded and not (folder := session.runtime_dir).is_dir():  # never started here
        raise CommandError(
            f"no supervisor runs in {folder}: {NEED_ONE}{service_folders.in_brackets(folder)}", Exit.UNAVAILABLE
        )
    async with open_store(session.settings.redis, session.settings.postgres) as store:
        try:
            return await inside(store)
        except (StoreUnavailableError, BaseExceptionGroup) as error:
            cause = single_error(error)
            if session.settings.embedded and is_caused_by(ABSENT, cause):
                cause.add_note(NO_STORE + service_folders.in_brackets(session.settings.runtime_dir))
            raise


# Commands that carry out one act of an operator: made of its definition.

NO_OWN: Mapping[str, options.Decorator] = MappingProxyType({})


def command_of(
    act: Act[Any, T],
    name: str,
    words: Callable[[T], str],
    epilog: str,
    left_out: Collection[str] = (),
    own: Mapping[str, options.Decorator] = NO_OWN,
    adds: options.Decorator = options.changing,
) -> click.Command:
    """A command that carries out one act of an operator. A field of the act without a default is an argument of the
    command, any other field is an option. `words`: makes the answer for people. `left_out`: fields that the command
    does not take. `own`: fields for which the command has its own option. `adds`: adds the common options."""

    @arguments_of(act, left_out, own)
    @adds
    def carry_out(session: Session, /, **given: Any) -> None:
        answer = operate(session, act, given_of(given))
        session.answer(answer, words(answer))

    return options.command(name, help=act.help, epilog=epilog)(carry_out)


def arguments_of(
    act: Act[Any, Any], left_out: Collection[str] = (), own: Mapping[str, options.Decorator] = NO_OWN
) -> options.Decorator:
    """A decorator that adds the fields of an act as arguments and options. For a command with a function of its own.
    `left_out` and `own`: as for `command_of`."""
    fields = [each for each in act.fields if each.name not in left_out]
    return options.together(*(own.get(field.name) or _parameter(field) for field in fields))


def given_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given: those that are neither None nor an empty tuple."""
    return {name: value for name, value in values.items() if value not in (None, ())}


def refusals(answers: Mapping[str, object]) -> list[HoldfastError]:
    """The errors among the answers of `operate_each`."""
    return [answer for answer in answers.values() if isinstance(answer, HoldfastError)]


def print_purged(session: Session, purged: int, refused: Collection[HoldfastError]) -> int:
    """Print the refusals and the number of things that were deleted. Returns the exit status."""
    for each in refused:
        output.note(str(each))
    session.answer({"purged": purged}, f"{purged} deleted")
    return exit_of(refused)


def _parameter(field: msgspec.structs.FieldInfo) -> options.Decorator:
    if field.required:
        return click.argument(field.name)
    names, help_ = [options.flag(field.name), field.name], description_of(field.type)
    kinds = kinds_of(field.type)
    if bool in kinds:
        return click.option(*names, is_flag=True, default=None, help=help_)
    if NoneType in kinds:
        help_ = f"{help_} `none`: no limit."
    return click.option(*names, help=help_, metavar="DURATION" if Age in kinds else field.name.upper())
