"""Finds the store of a broker: the one that settings name; else the worker's, the running supervisor's, or memory."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import anyio
import msgspec
import structlog

from holdfast.client.manager import TaskManager
from holdfast.client.submission import Registry
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.plain_json import UNREADABLE_JSON, Whole
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast.store import Store, open_store
from holdfast.store.current_store import CurrentStore, substitute, worker_store
from holdfast_config import ConfigError, Settings, service_folders
from holdfast_config.trust import UntrustedError

# Asks the supervisor of a runtime folder, if one runs there, for its store and its queue.

ASK_STATUS = b'{"do":"status"}\n'
ANSWER_TIMEOUT = 5.0  # seconds; a supervisor answers at once unless it is stopped
LONGEST_ANSWER = 16 << 20  # bytes: the status of many workers
MASKED = "***"
ABSENT = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


class SupervisorStore(msgspec.Struct, frozen=True):
    """The store of a supervisor. `url` has no password."""

    url: str
    embedded: bool
    queue: str = ""
    storage: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """The part of the supervisor's status that is read here."""

    pid: Whole
    store: SupervisorStore


@dataclass(frozen=True, slots=True)
class RunningSupervisor:
    """A supervisor that runs on this host."""

    folder: Path
    pid: int
    store: SupervisorStore

    def settings(self, given: Settings) -> Settings:
        """`given`, completed by this supervisor's settings. Raises ConfigError if a secret is missing, because the
        supervisor tells none."""
        if MASKED in self.store.url:
            raise ConfigError([f"{self} does not tell the password of its Redis: set REDIS_URL ({self.store.url})"])
        if self.store.storage == "postgres" and given.postgres is None:
            raise ConfigError([f"{self} keeps its tasks in PostgreSQL: set STORAGE_TYPE=postgres and DATABASE_URL"])
        changed: dict[str, object] = {} if self.store.embedded else {"redis_url": self.store.url}
        if self.store.queue and "queue_name" not in given.model_fields_set:
            changed["queue_name"] = self.store.queue
        return given.model_copy(update=changed)

    def __str__(self) -> str:
        return f"the supervisor in {self.folder} (pid {self.pid})"


async def running_supervisor(folder: Path) -> RunningSupervisor | None:
    """The supervisor of this runtime folder; None if none runs there. Raises StoreError if it cannot be asked."""
    path = folder / service_folders.CONTROL_SOCKET
    try:
        with anyio.fail_after(ANSWER_TIMEOUT):
            answer = msgspec.json.decode(await _answer(path), type=_Answer)
    except ABSENT:
        return None
    except PermissionError as error:
        raise StoreRefusedError(f"{path}: {error.strerror}: a supervisor runs there, but not for this user") from error
    except TimeoutError as error:
        raise StoreUnavailableError(f"the supervisor in {folder} did not answer in {ANSWER_TIMEOUT:g} s") from error
    except (OSError, anyio.BrokenResourceError, anyio.EndOfStream, *UNREADABLE_JSON) as error:
        raise StoreUnavailableError(f"the supervisor in {folder} cannot be asked for its store: {error}") from error
    return RunningSupervisor(folder, answer.pid, answer.store)


async def _answer(path: Path) -> bytes:
    async with await anyio.connect_unix(path) as stream:
        await stream.send(ASK_STATUS)
        line = b""
        while not line.endswith(b"\n"):
            line += await stream.receive(LONGEST_ANSWER)
            if len(line) > LONGEST_ANSWER:
                raise StoreUnavailableError(f"{path}: the answer of the supervisor is too long")
    return line


IN_MEMORY = (
    "no store is named, and no supervisor runs in {}{}: tasks are kept in the memory of this process and end with it; "
    'set REDIS_URL, start a supervisor, or call create_broker(type="memory")'
)

PLACES = ("runtime_dir", "state_dir")  # the worker's values count, which may come from flags of its supervisor

_log = structlog.get_logger("holdfast")


@dataclass(frozen=True, slots=True)
class StoreSource:
    """`settings` name the store. `private`: no other process can reach it. `info` and `warning`: lines to log when the
    store has answered."""

    settings: Settings
    opening: AbstractAsyncContextManager[Store]
    in_memory: bool = False
    private: bool = False
    info: str = ""
    warning: str = ""

    def announce(self) -> None:
        if self.warning:
            _log.warning(self.warning)
        elif self.info:
            _log.info(self.info)

    def manager(
        self, store: Store, retries: SubmitRetries | None = None, handlers: Registry | None = None
    ) -> TaskManager:
        """The manager of the queue in this store, which was opened; without `retries` the settings count."""
        return TaskManager(
            store,
            queue=self.settings.queue_name,
            max_message_bytes=self.settings.max_message_bytes,
            retries=retries or SubmitRetries.of(self.settings.redis.submit),
            handlers=handlers,
            trace_baggage=self.settings.trace_baggage,
        )


def names_memory(settings: Settings) -> bool | None:
    """True if the settings name the store in memory, False for Redis; None if they do not say. ConfigError."""
    if "scheduler_type" not in settings.model_fields_set:
        return None if settings.embedded else False
    if settings.scheduler_type == "redis" and settings.embedded:
        raise ConfigError(["scheduler_type: 'redis': needs redis_url or redis_host; leave it out to use memory"])
    return settings.scheduler_type == "memory"


async def find_source(settings: Settings, set_fields: Collection[str], *, in_memory: bool | None) -> StoreSource:
    """`in_memory`: None if the settings do not say; `set_fields`: the fields that the caller set itself."""
    if (standing_in := substitute(settings.queue_name)) is not None:
        return StoreSource(settings, nullcontext(standing_in), in_memory=True)
    if in_memory:
        return _memory(settings)
    if in_memory is False:
        return _redis(settings, f"Redis scheduler connected to {settings.redis.masked_url}")
    if own := worker_store():
        return _of_worker(own, settings, set_fields)
    if found := await running_supervisor(_trusted(settings)):
        settings = found.settings(settings)
        where = f"{settings.redis.masked_url}, queue {settings.queue_name}"
        return _redis(settings, f"no store is named: using that of {found}: {where}")
    return _memory(settings, IN_MEMORY.format(settings.runtime_dir, service_folders.in_brackets(settings.runtime_dir)))


def _trusted(settings: Settings) -> Path:
    """The runtime folder, checked for its owner: another user could answer there and name a wrong store."""
    try:
        return settings.runtime_folder.check()
    except UntrustedError as error:
        raise StoreRefusedError(f"{error.filename}: {error.strerror}") from error


def need_memory() -> None:
    """Raises MissingPackageError if a package of the store in memory is missing."""
    import holdfast.store.memory  # noqa: F401  # pyright: ignore[reportUnusedImport]  # slow, and not for everybody


def _redis(settings: Settings, info: str = "") -> StoreSource:
    return StoreSource(settings, open_store(settings.redis, settings.postgres), info=info)


def _memory(settings: Settings, warning: str = "") -> StoreSource:
    from holdfast.store.memory import is_served, open_memory

    queue = settings.queue_name
    settings = settings.model_copy(update={"scheduler_type": "memory"})
    return StoreSource(settings, open_memory(queue), in_memory=True, private=not is_served(queue), warning=warning)


def _of_worker(own: CurrentStore, given: Settings, set_fields: Collection[str]) -> StoreSource:
    changed = {field: getattr(given, field) for field in set_fields if field not in PLACES}
    settings = own.settings.model_copy(update=changed)
    if own.store is None:
        return _redis(settings)
    if settings.queue_name != own.settings.queue_name:
        served = own.settings.queue_name
        raise StoreRefusedError(f"this worker serves queue {served} in memory, not {settings.queue_name}")
    return StoreSource(settings, nullcontext(own.store), in_memory=True)
