"""The protocol of the control socket: one request a line, one answer a line, in JSON. Durations are seconds, `at` is
unix time.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from holdfast.core.plain_json import Real, Whole
from holdfast.errors import HoldfastError
from holdfast_config import service_folders

CONTROL_SOCKET = service_folders.CONTROL_SOCKET
LONGEST_ANSWER = 16 << 20  # bytes: the status of many workers


class StoreStatus(msgspec.Struct, frozen=True):
    """`url` without its password; `pid` only for an embedded store that runs; `storage`: redis or postgres."""

    url: str
    embedded: bool
    pid: Whole | None = None
    queue: str = ""
    storage: str = ""


class ProcessStatus(msgspec.Struct, frozen=True):
    """A child process. `silent`: seconds since its last message; `restarts` of its slot; `generation` of its code;
    None: could not be measured."""

    kind: str
    slot: Whole
    pid: Whole
    incarnation: str
    state: str
    uptime: Real
    running: list[str]
    settled: Whole
    restarts: Whole
    generation: Whole
    silent: Real
    cpu_percent: Real | None = None
    memory_bytes: Whole | None = None
    cpu_seconds: Real | None = None


class DeathStatus(msgspec.Struct, frozen=True):
    """The end of a child and its cause. `status`: exit code, or minus the signal; `running`: the first tasks of its
    last report; `peak_bytes`: its peak resident memory."""

    at: Real
    kind: str
    slot: Whole
    pid: Whole
    incarnation: str
    cause: str
    detail: str
    status: Whole = 0
    running: list[str] = []
    lived: Real = 0.0
    peak_bytes: Whole | None = None


class Deaths(msgspec.Struct, frozen=True):
    """`total`: since the start; `recent`: the last ones, oldest first; `by_cause`: the total by kind of process and
    cause."""

    total: Whole
    recent: list[DeathStatus]
    by_cause: dict[str, dict[str, Whole]] = {}


class QuarantineStatus(msgspec.Struct, frozen=True):
    """`waiting`: suspects that may start now; `most`: the limit of quarantine workers, which run one suspect each
    beside the pool.

    `held_back`: the reason why none is forked for waiting suspects, or empty.
    """

    waiting: Whole = 0
    most: Whole = 1
    held_back: str = ""


class SupervisorStatus(msgspec.Struct, frozen=True):
    """The answer to AskStatus. `degraded` and `breaker` say why the service is impaired, or are empty; `generation`: of
    the code that workers are forked with, increased by each reload; `not_preloaded`: why each worker imports the
    handler itself, empty if they share one import or need none."""

    version: str
    pid: Whole
    state: str
    uptime: Real
    target: Whole
    ready: Whole
    degraded: str
    breaker: str
    generation: Whole
    reloading: bool
    store: StoreStatus
    processes: list[ProcessStatus]
    deaths: Deaths
    quarantine: QuarantineStatus = QuarantineStatus()
    not_preloaded: str = ""
    ok: bool = True


class Scaled(msgspec.Struct, frozen=True):
    """The answer to AskScale."""

    target: Whole
    ok: bool = True


class StacksOrdered(msgspec.Struct, frozen=True):
    """The answer to AskStacks: the process that writes them now."""

    pid: Whole
    ok: bool = True


class Begun(msgspec.Struct, frozen=True):
    """The first answer to AskReload and AskStop."""

    ok: bool = True


class ReloadResult(msgspec.Struct, frozen=True):
    """The answer at the end of a reload: the new code serves, or `error` says why the old code continues.

    `draining`: workers of old code that still finish their tasks.
    """

    generation: Whole
    draining: Whole
    error: str = ""
    traceback: str = ""
    ok: bool = True


class StopResult(msgspec.Struct, frozen=True):
    """The answer at the end of a stop: the exit status of the service."""

    code: Whole
    ok: bool = True


class Refused(msgspec.Struct, frozen=True):
    """The answer to a request that cannot be done or parsed. `denied`: this user may not send it."""

    error: str
    denied: bool = False
    ok: bool = False


Answer = SupervisorStatus | Scaled | StacksOrdered | Begun | Refused
FinalAnswer = ReloadResult | StopResult

FirstAnswer = TypeVar("FirstAnswer", SupervisorStatus, Scaled, StacksOrdered, Begun)


class Ask(msgspec.Struct, Generic[FirstAnswer], frozen=True, tag_field="do"):
    """A request with the type of its first answer."""


class AskStatus(Ask[SupervisorStatus], frozen=True, tag="status"):
    """Report the state of the service."""


class AskScale(Ask[Scaled], frozen=True, tag="scale"):
    """Keep this many workers."""

    workers: Whole


class AskStacks(Ask[StacksOrdered], frozen=True, tag="stacks"):
    """Have the worker of this incarnation write the stacks of its threads to its memory."""

    incarnation: str


class AskReload(Ask[Begun], frozen=True, tag="reload"):
    """Replace the workers by new ones that import the handler again. `wait`: ReloadResult is answered at the end."""

    wait: bool = False


class AskStop(Ask[Begun], frozen=True, tag="stop"):
    """Drain and end; StopResult is answered at the end. `now`: cancel running tasks."""

    now: bool = False


ControlRequest = AskStatus | AskScale | AskStacks | AskReload | AskStop

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[ControlRequest] = msgspec.json.Decoder(ControlRequest)


def encode(message: Ask[FirstAnswer] | Answer | FinalAnswer) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> ControlRequest:
    """Reads a request. Raises an error of UNREADABLE_JSON if the bytes are none."""
    return _requests.decode(line)


# Errors of requests to the supervisor.


class ControlError(HoldfastError):
    """The supervisor refused or failed; the message says why."""


class DeniedError(ControlError):
    """This user may not ask the supervisor for that."""


class NotRunningError(ControlError):
    """No supervisor answers in this runtime directory."""
