"""Asks the supervisor of a runtime folder, if one runs there, for its store and its queue."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio
import msgspec

from holdfast.core.plain_json import UNREADABLE_JSON, Whole
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast_config import ConfigError, Settings, service_folders

ASK_STATUS = b'{"do":"status"}\n'
ANSWER_TIMEOUT = 5.0  # seconds; a supervisor answers at once unless it is stopped
LONGEST_ANSWER = 16 << 20  # bytes: the status of many workers
MASKED = "***"
ABSENT = (FileNotFoundError, NotADirectoryError, ConnectionRefusedError)


class _Store(msgspec.Struct, frozen=True):
    url: str
    embedded: bool
    queue: str = ""
    storage: str = ""


class _Answer(msgspec.Struct, frozen=True):
    """The part of the supervisor's status that is read here."""

    pid: Whole
    store: _Store


@dataclass(frozen=True, slots=True)
class RunningSupervisor:
    """`url` is without its password."""

    folder: Path
    pid: int
    url: str
    embedded: bool
    queue: str
    storage: str

    def settings(self, given: Settings) -> Settings:
        """`given`, completed by this supervisor's settings. ConfigError if a secret is missing, which it does not
        tell."""
        if MASKED in self.url:
            raise ConfigError([f"{self} gives away no password of its Redis: set REDIS_URL ({self.url})"])
        if self.storage == "postgres" and given.postgres is None:
            raise ConfigError([f"{self} keeps its tasks in PostgreSQL: set STORAGE_TYPE=postgres and DATABASE_URL"])
        changed: dict[str, object] = {} if self.embedded else {"redis_url": self.url}
        if self.queue and "queue_name" not in given.model_fields_set:
            changed["queue_name"] = self.queue
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
    store = answer.store
    return RunningSupervisor(folder, answer.pid, store.url, store.embedded, store.queue, store.storage)


async def _answer(path: Path) -> bytes:
    async with await anyio.connect_unix(path) as stream:
        await stream.send(ASK_STATUS)
        line = b""
        while not line.endswith(b"\n"):
            line += await stream.receive(LONGEST_ANSWER)
            if len(line) > LONGEST_ANSWER:
                raise StoreUnavailableError(f"{path}: the answer of the supervisor is too long")
    return line
