"""Finds the store of a broker: the one that the settings name; else the store of the worker in which the code runs,
else the store of a supervisor on this host, else a store in memory."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import anyio
import msgspec

from holdfast.client.manager import TaskManager
from holdfast.client.submission import Registry
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.plain_json import UNREADABLE_JSON, Whole
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast.store import Store, open_store
from holdfast.store.current_store import CurrentStore, substitute, worker_store
from holdfast_config import ConfigError, Settings, library_log, service_folders
from holdfast_config.trust import UntrustedError

# Ask the supervisor of a runtime folder, if one runs there, for its store and its queue.

ASK_STATUS = b'{"do":"status"}\n'
ANSWER_TIMEOUT = 5.0  # seconds; a supervisor answers at once unless it is stopped
LONGEST_ANSWER = 16 << 20  # bytes: enough for the status of many workers
MASKED = "***"
ABSENT = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


class SupervisorStore(msgspec.Struct, frozen=True):
    """The store of a supervisor, as the supervisor reports it in its status. In `url` the password is masked."""

    url: str
    embedded: bool
    queue: str = ""
    storage: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """The part of a supervisor's answer to a status request that this module reads."""

    pid: Whole
    store: SupervisorStore


@dataclass(frozen=True, slots=True)
class RunningSupervisor:
    """A supervisor that runs on this host, found by its runtime folder."""

    folder: Path
    pid: int
    store: SupervisorStore

    def settings(self, given: Settings) -> Settings:
        """The settings `given` with this supervisor's store and queue. A supervisor tells no secrets. Raises
        ConfigError if `given` lacks a secret that the store needs."""
        if MASKED in self.store.url:
            raise ConfigError(
                [f"{self} keeps the password of its Redis secret: set REDIS_URL with the password ({self.store.url})"]
            )
        if self.store.storage == "postgres" and given.postgres is None:
            raise ConfigError([f"{self} keeps its tasks in PostgreSQL: set STORAGE_TYPE=postgres and DATABASE_URL"])
        changed: dict[str, object] = {} if self.store.embedded else {"redis_url": self.store.url}
        if self.store.queue and "queue_name" not in given.model_fields_set:
            changed["queue_name"] = self.store.queue
        return given.model_copy(update=changed)

    def __str__(self) -> str:
        return f"the supervisor in {self.folder} (pid {self.pid})"


async def running_supervisor(folder: Path) -> RunningSupervisor | None:
    """The supervisor of this runtime folder; None if none runs there. Raises StoreError if the supervisor does not
    answer, or refuses this user."""
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
        raise StoreUnavailableError(f"the supervisor in {folder} does not say which store it uses: {error}") from error
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

PLACES = ("runtime_dir", "state_dir")  # inside a worker the worker's values of these count, not the caller's

_log = library_log.get_logger("holdfast")


@dataclass(frozen=True, slots=True)
class StoreSource:
    """A store that was found and is not open yet. `opening` opens it. `settings`: the settings with which it was found.
    `private`: no other process can reach the store. `info` or `warning`: the line to log once the store has
    answered."""

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
        """The manager of the queue. `store`: what `opening` has opened. Without `retries` the settings say how long
        calls are repeated."""
        return TaskManager(
            store,
            queue=self.settings.queue_name,
            max_message_bytes=self.settings.max_message_bytes,
            retries=retries or SubmitRetries.of(self.settings.redis.submit),
            handlers=handlers,
            trace_baggage=self.settings.trace_baggage,
        )


def names_memory(settings: Settings) -> bool | None:
    """True if the settings name the store in memory, False if they name Redis, None if they name no store. Raises
    ConfigError."""
    if "scheduler_type" not in settings.model_fields_set:
        return None if settings.embedded else False
    if settings.scheduler_type == "redis" and settings.embedded:
        raise ConfigError(
            [
                "scheduler_type: 'redis': needs redis_url or redis_host; to keep tasks in memory, leave scheduler_type "
                "out"
            ]
        )
    return settings.scheduler_type == "memory"


async def find_source(settings: Settings, set_fields: Collection[str], *, in_memory: bool | None) -> StoreSource:
    """Find the store of a broker. `in_memory`, from `names_memory`: True for the store in memory, False for Redis,
    None if the settings name no store. `set_fields`: the settings that the caller passed explicitly; inside a
    worker only these replace the worker's settings. Raises ConfigError and StoreError."""
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
    """The path of the runtime folder, after a check of the folder's owner. In a folder of another user, a foreign
    process could answer in place of the supervisor and name a wrong store."""
    try:
        return settings.runtime_folder.check()
    except UntrustedError as error:
        raise StoreRefusedError(f"{error.filename}: {error.strerror}") from error


def need_memory() -> None:
    """Raise MissingPackageError if a package that the store in memory needs is missing."""
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
