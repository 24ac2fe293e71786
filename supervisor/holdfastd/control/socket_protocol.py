"""The protocol of the control socket, in JSON. A request is one line, an answer is one line. Durations are in seconds;
`at` is Unix time.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from holdfast.core.plain_json import Real, Whole
from holdfast.errors import HoldfastError
from holdfast_config import service_folders

CONTROL_SOCKET = service_folders.CONTROL_SOCKET
LONGEST_ANSWER = 16 << 20  # bytes: a status with many workers is long


class StoreStatus(msgspec.Struct, frozen=True):
    """The store of a supervisor. `url`: without its password. `pid`: only for an embedded store that runs. `storage`:
    redis or postgres."""

    url: str
    embedded: bool
    pid: Whole | None = None
    queue: str = ""
    storage: str = ""


class ProcessStatus(msgspec.Struct, frozen=True):
    """A child process. `silent`: seconds since its last message; `restarts`: how often its slot was filled again;
    `generation`: the generation of its code. The measured values are None if they could not be measured."""

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
    """The death of a child. `status`: the exit code, or the negative number of the signal. `running`: the first tasks
    of its last report. `lived`: seconds. `peak_bytes`: its peak resident memory."""

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
    """The deaths of children. `total`: since the start. `recent`: the last ones, the oldest first. `by_cause`: the
    total by the kind of process and the cause."""

    total: Whole
    recent: list[DeathStatus]
    by_cause: dict[str, dict[str, Whole]] = {}


class QuarantineStatus(msgspec.Struct, frozen=True):
    """The state of quarantine. `waiting`: suspects that may start now. `most`: the largest number of quarantine
    workers.

    `held_back`: the reason why no quarantine worker is forked for waiting suspects; empty if there is none.
    """

    waiting: Whole = 0
    most: Whole = 1
    held_back: str = ""


class SupervisorStatus(msgspec.Struct, frozen=True):
    """The answer to AskStatus. `degraded` and `breaker` say why the service is impaired, or are empty. `generation`:
    the number of the workers' code, which grows with each reload. `not_preloaded`: why each worker imports the handler
    itself; empty if the workers share one import or need none. `not_applied`: changed settings that the last reload has
    read, and that take effect only with a restart."""

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
    not_applied: list[str] = []
    ok: bool = True


class Scaled(msgspec.Struct, frozen=True):
    """The answer to AskScale."""

    target: Whole
    ok: bool = True


class StacksOrdered(msgspec.Struct, frozen=True):
    """The answer to AskStacks: the process that writes its stacks now."""

    pid: Whole
    ok: bool = True


class Begun(msgspec.Struct, frozen=True):
    """The first answer to AskReload and AskStop."""

    ok: bool = True


class ReloadResult(msgspec.Struct, frozen=True):
    """The second answer to AskReload, at the end of the reload. `error`: why the old code goes on; empty if the new
    code serves.

    `draining`: workers of old code that still finish their tasks. `not_applied`: as in SupervisorStatus.
    """

    generation: Whole
    draining: Whole
    error: str = ""
    traceback: str = ""
    not_applied: list[str] = []
    ok: bool = True


class StopResult(msgspec.Struct, frozen=True):
    """The second answer to AskStop, at the end of the service: its exit status."""

    code: Whole
    ok: bool = True


class Refused(msgspec.Struct, frozen=True):
    """The answer to a request that cannot be parsed or carried out. `denied`: this user may not send the request."""

    error: str
    denied: bool = False
    ok: bool = False


Answer = SupervisorStatus | Scaled | StacksOrdered | Begun | Refused
FinalAnswer = ReloadResult | StopResult

FirstAnswer = TypeVar("FirstAnswer", SupervisorStatus, Scaled, StacksOrdered, Begun)


class Ask(msgspec.Struct, Generic[FirstAnswer], frozen=True, tag_field="do"):
    """A request. Its type parameter is the type of its first answer."""


class AskStatus(Ask[SupervisorStatus], frozen=True, tag="status"):
    """Report the state of the service."""


class AskScale(Ask[Scaled], frozen=True, tag="scale"):
    """Set the number of workers."""

    workers: Whole


class AskStacks(Ask[StacksOrdered], frozen=True, tag="stacks"):
    """Have the worker of this incarnation write the stacks of its threads and of its tasks to its memory."""

    incarnation: str


class AskReload(Ask[Begun], frozen=True, tag="reload"):
    """Replace the workers by new ones that import the handler again. `wait`: send ReloadResult at the end, too."""

    wait: bool = False


class AskStop(Ask[Begun], frozen=True, tag="stop"):
    """Drain and end the service; StopResult is sent at the end. `now`: cancel running tasks."""

    now: bool = False


ControlRequest = AskStatus | AskScale | AskStacks | AskReload | AskStop

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[ControlRequest] = msgspec.json.Decoder(ControlRequest)


def encode(message: Ask[FirstAnswer] | Answer | FinalAnswer) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> ControlRequest:
    """Read a request. Raises an error of UNREADABLE_JSON if the bytes are no valid request."""
    return _requests.decode(line)


# Errors of requests to the supervisor.


class ControlError(HoldfastError):
    """The supervisor refused the request, or could not answer it. The message says why."""


class DeniedError(ControlError):
    """This user may not send this request to the supervisor."""


class NotRunningError(ControlError):
    """No supervisor answers in this runtime folder."""
