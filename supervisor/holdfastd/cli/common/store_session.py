"""What commands do with the store: an event loop, a connection, and the patience of somebody at a terminal."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import anyio

from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.errors import StoreUnavailableError
from holdfast.exits import Exit
from holdfast.store import open_store
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfastd.cli.common import output
from holdfastd.cli.common.exit_status import CommandError, is_caused_by, single_error
from holdfastd.cli.common.session import Session

T = TypeVar("T")

TERMINAL_RETRIES = SubmitRetries(attempts=4, seconds=5.0)
LONG_RETRIES = SubmitRetries(
    attempts=1000, seconds=20.0
)  # of a long piece of work: a store that restarts loads its data
ABSENT = (FileNotFoundError, ConnectionRefusedError)  # nobody listens; one that answers with an error is there
IN_MEMORY = "SCHEDULER_TYPE memory keeps the queue inside the process that serves it: nothing else can ask it"
NO_STORE = "that is the store a supervisor brings along: start one (supervisor start), or name a Redis (--redis-url)"


def ask(session: Session, question: Callable[[Store], Awaitable[T]]) -> T:
    """The store's answer to one question."""

    async def inside(store: Store) -> T:
        return await retries_of(session.settings).call(question, store)

    return _run(session, inside)


def converse(session: Session, work: Callable[[Store], Awaitable[T]]) -> T:
    """What came of `work`, which speaks with the store itself, and for how long it likes."""
    return _run(session, work)


def manage(
    session: Session,
    work: Callable[[TaskManager], Awaitable[T]],
    later: SubmitRetries | None = None,
    first: SubmitRetries | None = None,
) -> T:
    """What `work` returns, which is given the producer's API.

    `first`: the patience with a store that has not answered yet, else that of somebody at a terminal. `later`: with one
    that has answered.
    """
    settings, first = session.settings, first or retries_of(session.settings)

    async def inside(store: Store) -> T:
        if later is not None:
            await first.call(store.ping)
        limit = settings.max_message_bytes
        manager = TaskManager(store, queue=settings.queue_name, max_message_bytes=limit, patience=later or first)
        return await work(manager)

    return _run(session, inside)


class AnnouncedRetries(SubmitRetries):
    """The patience of a submission at a terminal: one line says that it asks again, and for how long."""

    def pausing(self, error: BaseException) -> None:
        output.note(f"{error}: asking again, for {self.seconds:g} s at most")


def retries_of(settings: Settings) -> SubmitRetries:
    """What the settings say, if they say anything of it: somebody at a terminal has less."""
    told = any(field.startswith("submit_") for field in settings.model_fields_set)
    return SubmitRetries.of(settings.redis.submit) if told else TERMINAL_RETRIES


def reach(session: Session) -> None:
    """See that the store answers, before a service begins that would wait for it. StoreUnavailableError."""

    async def ping(store: Store) -> None:
        await store.ping()

    ask(session, ping)


def _run(session: Session, inside: Callable[[Store], Awaitable[T]]) -> T:
    return anyio.run(_interruptible, session, inside, backend_options={"use_uvloop": True})


async def _interruptible(session: Session, inside: Callable[[Store], Awaitable[T]]) -> T:
    """An interrupt cancels whatever is awaited until all has ended; a second one ends the process at once.

    The event loop itself would cancel once, and `asyncio.wait_for` of Python 3.11, in each call to Redis, may swallow
    that.
    """
    with anyio.CancelScope() as scope, _interrupts(scope.cancel):
        return await _with_store(session, inside)
    raise KeyboardInterrupt


@contextmanager
def _interrupts(cancel: Callable[[], None]) -> Generator[None]:
    """The first SIGINT cancels, unless the caller of this process has it ignored."""
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


async def _with_store(session: Session, inside: Callable[[Store], Awaitable[T]]) -> T:
    if session.settings.scheduler_type == "memory":
        raise CommandError(IN_MEMORY, Exit.CONFIG)
    async with open_store(session.settings.redis, session.settings.postgres) as store:
        try:
            return await inside(store)
        except (StoreUnavailableError, BaseExceptionGroup) as error:
            cause = single_error(error)
            if session.settings.embedded and is_caused_by(ABSENT, cause):
                cause.add_note(NO_STORE)
            raise
