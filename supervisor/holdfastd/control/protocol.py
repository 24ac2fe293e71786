"""The control socket's language: one request a line, one answer a line, JSON. Durations are seconds, `at` unix time."""

from __future__ import annotations

import msgspec

CONTROL_SOCKET = "control.sock"


class AskStatus(msgspec.Struct, frozen=True, tag_field="do", tag="status"):
    """What is going on?"""


class AskScale(msgspec.Struct, frozen=True, tag_field="do", tag="scale"):
    """Keep this many workers."""

    workers: int


class AskReload(msgspec.Struct, frozen=True, tag_field="do", tag="reload"):
    """Replace the workers by ones that import the handler anew. Reloading is answered at once, and Reloaded when it is
    over if `wait`."""

    wait: bool = False


class AskStop(msgspec.Struct, frozen=True, tag_field="do", tag="stop"):
    """Drain and end. Stopping is answered at once, Stopped at the very end."""


Request = AskStatus | AskScale | AskReload | AskStop


class StoreStatus(msgspec.Struct, frozen=True):
    """`url` without its password; `pid` only of an embedded store that runs; `storage`: redis or postgres. A
    supervisor of an earlier version leaves `queue` and `storage` empty."""

    url: str
    embedded: bool
    pid: int | None = None
    queue: str = ""
    storage: str = ""


class ProcessStatus(msgspec.Struct, frozen=True):
    """A child. `silent`: since it last spoke; `restarts` of its slot; `generation` of its code; None: could not be
    measured."""

    kind: str
    slot: int
    pid: int
    incarnation: str
    state: str
    uptime: float
    running: list[str]
    settled: int
    restarts: int
    generation: int
    silent: float
    cpu_percent: float | None = None
    memory_bytes: int | None = None


class DeathStatus(msgspec.Struct, frozen=True):
    """A child that ended, and why. `status`: exit code, or minus the signal; `running`: the first tasks that it had
    when it last spoke; `peak_bytes`: the most memory it had resident."""

    at: float
    kind: str
    slot: int
    pid: int
    incarnation: str
    cause: str
    detail: str
    status: int = 0
    running: list[str] = []
    lived: float = 0.0
    peak_bytes: int | None = None


class Deaths(msgspec.Struct, frozen=True):
    """`total` since the start; the last ones, oldest first."""

    total: int
    recent: list[DeathStatus]


class QuarantineStatus(msgspec.Struct, frozen=True):
    """Suspects that may start now and wait, at most so many quarantine workers beside the pool that run one each.

    `held_back`: why none is forked for them, or empty.
    """

    waiting: int = 0
    most: int = 1
    held_back: str = ""


class SupervisorStatus(msgspec.Struct, frozen=True):
    """The answer to AskStatus. `degraded` and `breaker` say why the service is not whole, or are empty;
    `generation`: of the code that workers are forked with, one more with each reload."""

    version: str
    pid: int
    state: str
    uptime: float
    target: int
    ready: int
    degraded: str
    breaker: str
    generation: int
    reloading: bool
    store: StoreStatus
    processes: list[ProcessStatus]
    deaths: Deaths
    quarantine: QuarantineStatus = QuarantineStatus()
    ok: bool = True


class Scaled(msgspec.Struct, frozen=True):
    """The answer to AskScale."""

    target: int
    ok: bool = True


class Reloading(msgspec.Struct, frozen=True):
    """The first answer to AskReload."""

    ok: bool = True


class ReloadAnswer(msgspec.Struct, frozen=True):
    """The end of a reload for those who waited: the new code serves, or `error` says why the old one goes on serving.

    `draining`: workers of old code that still finish their tasks.
    """

    generation: int
    draining: int
    error: str = ""
    traceback: str = ""
    ok: bool = True


class StopAnswer(msgspec.Struct, frozen=True):
    """The first answer to AskStop."""

    ok: bool = True


class StopProgress(msgspec.Struct, frozen=True):
    """The last word to those who asked to stop: the exit status of the service."""

    code: int
    ok: bool = True


class Refused(msgspec.Struct, frozen=True):
    """The answer to what cannot be done or understood. `denied`: this user may not ask for it."""

    error: str
    denied: bool = False
    ok: bool = False


Answer = SupervisorStatus | Scaled | Reloading | StopAnswer | Refused
Last = ReloadAnswer | StopProgress

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)


def encode(message: Request | Answer | Last) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    """Raises msgspec.DecodeError for what is no request."""
    return _requests.decode(line)
