"""Messages between a parent and its children over their socketpair: JSON, one message a line.

Deadlines are absolute CLOCK_MONOTONIC seconds, the same in every process of a host. If the parent's end of the
socketpair closes, the parent is gone. If the child dies, its end may stay open, because a grandchild may hold it. So
the parent learns of a child's death from a pidfd.
"""

from __future__ import annotations

import math
from typing import Annotated, Protocol

import anyio
import msgspec
from msgspec import Meta

from holdfast.core.plain_json import Real, Whole

MOST_NAMED = 100  # tasks in one message
MOST_SERVED = 5  # handlers in one message


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """From a child: it has booted. A worker has registered and is about to wait for tasks; a steward has checked the
    store. `served`: the first handlers of a worker that takes only tasks of named handlers, by name; `more`: the number
    of its other handlers."""

    served: Annotated[list[str], Meta(max_length=MOST_SERVED)] = []
    more: Whole = 0


class BootFailed(msgspec.Struct, frozen=True, tag="boot-failed"):
    """From a child: it cannot start, and exits with `code`. `error`: the reason in one line. `traceback`: the traceback
    of the user's code; empty if there is none."""

    code: Annotated[int, Meta(ge=0, le=255)]
    error: str
    traceback: str = ""


class Beat(msgspec.Struct, frozen=True, tag="beat"):
    """From a child: its event loop runs. Sent every second; in a drain also when the last task has ended. `running`:
    ids of running tasks (at most MOST_NAMED). `settled`: the number of tasks settled since the fork. `degraded`: why
    the store cannot be used, or empty. `recycle_reason`: why this worker should be replaced, or empty."""

    running: Annotated[list[str], Meta(max_length=MOST_NAMED)] = []
    settled: Whole = 0
    degraded: str = ""
    recycle_reason: str = ""


class Acknowledged(msgspec.Struct, frozen=True, tag="acknowledged"):
    """From the steward: the store has recorded the death that the message `Died` reported. `recovered`: how many tasks
    were put back."""

    incarnation: str
    recovered: Whole


class Drained(msgspec.Struct, frozen=True, tag="drained"):
    """From a worker: it is about to exit. `released`: the number of unfinished tasks that it has given back. `held`:
    the number of tasks that it could not give back; a steward recovers them after its end."""

    released: Whole
    held: Whole = 0


class Changed(msgspec.Struct, frozen=True, tag="changed"):
    """From the watcher: these files have changed. If they are many, `paths` names only some."""

    paths: list[str]


class Left(msgspec.Struct, frozen=True, tag="left"):
    """From the steward of a burst, which is a pool that ends when its lanes are empty: the state of the queue. `left`:
    True if tasks are left in the lanes of this pool. `ended`: all ended tasks so far, by state. `delayed`: number of
    delayed tasks; the next one is due in `due_in` seconds. `unserved`: number of tasks that wait for handlers that no
    live worker has."""

    left: bool
    ended: dict[str, Whole]
    delayed: Whole = 0
    due_in: Real | None = None
    unserved: Whole = 0


class SuspectsWaiting(msgspec.Struct, frozen=True, tag="suspects"):
    """From the steward: the number of suspects that may start now in the lanes of this pool. Sent when the number
    changes, and every second while it is not 0. `alone`: how many of these must run while no other quarantine worker of
    this host runs a task. `quiet`: in words, why this host must claim nothing, and the command that ends this; empty if
    it may claim."""

    startable: Whole
    alone: Whole = 0
    quiet: str = ""


class Drain(msgspec.Struct, frozen=True, tag="drain"):
    """From the parent: claim nothing more, and finish by `deadline`. At `cancel_at`, cancel the running handlers and
    give their tasks back."""

    cancel_at: Real
    deadline: Real


class Born(msgspec.Struct, frozen=True, tag="born"):
    """Parent to steward: this worker incarnation lives; the steward shall renew its lease until the parent reports its
    death."""

    incarnation: str


class Died(msgspec.Struct, frozen=True, tag="died"):
    """Parent to steward: this worker incarnation is dead, and the parent has reaped its process. Sent again until the
    steward has acknowledged it.

    `charged`: the death counts as a crash of its tasks. It does not count after an operator's kill, a drain or the loss
    of the host. `ordered`: an order (drain, scale, reload, recycle) caused the death, or the worker left by itself, so
    no task becomes a suspect. `at`: when the parent saw the death, on the machine's monotonic clock; None: unknown.
    """

    incarnation: str
    cause: str
    charged: bool
    ordered: bool = False
    at: Real | None = None


class Silent(msgspec.Struct, frozen=True, tag="silent"):
    """Parent to steward: this worker lives, but has not reported for some seconds. Sent every second until it
    reports."""

    incarnation: str


class Leave(msgspec.Struct, frozen=True, tag="leave"):
    """Parent to steward: acknowledge all messages so far, and exit by `deadline`."""

    deadline: Real


class Logged(msgspec.Struct, frozen=True, tag="logged"):
    """Parent to steward: a record of the parent's log, for the collector."""

    record: dict[str, str | bool | int | float]


FromChild = Ready | BootFailed | Beat | Acknowledged | Drained | Left | Changed | SuspectsWaiting
FromParent = Drain | Born | Died | Silent | Leave | Logged


class Link(Protocol):
    """A child's end of the channel."""

    async def receive(self) -> FromParent | None:
        """The next message. Once the parent is gone, each call returns None. Only one reader at a time may call
        this."""
        ...

    def send(self, message: FromChild) -> None:
        """Send a message. Never waits and never fails."""
        ...

    async def flush(self, within: float) -> None:
        """Wait until all messages are handed over, at most `within` seconds. Call this before the process exits."""
        ...


_encoder = msgspec.json.Encoder()
_from_child = msgspec.json.Decoder[FromChild](FromChild)
_from_parent = msgspec.json.Decoder[FromParent](FromParent)


def encode(message: FromChild | FromParent) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_from_child(line: bytes) -> FromChild:
    """Read a message of a child. Raises an error of UNREADABLE_JSON if the bytes are no message."""
    message: FromChild = _from_child.decode(line)
    return message


def decode_from_parent(line: bytes) -> FromParent:
    """Read a message of the parent. Raises an error of UNREADABLE_JSON if the bytes are no message."""
    message: FromParent = _from_parent.decode(line)
    return message


# The moments at which the processes of a host report. Many report at the same moment, so that the parent wakes once.

INTERVAL = 1.0  # seconds
TOGETHER = 16  # workers that report at one moment; more would keep all processors busy
GROUPS = 10


def until_next(now: float, slot: int = 0) -> float:
    """Seconds until the next report, at least a quarter of the interval. `now` is monotonic, so it is the same in all
    processes of the host. Reports of many workers are spread over the interval."""
    phase = slot // TOGETHER % GROUPS / GROUPS * INTERVAL
    left = INTERVAL - (now - phase) % INTERVAL
    return left if left > INTERVAL / 4 else left + INTERVAL


# A channel whose two ends are in one process, for a worker or a steward that was not forked.


class InProcessLink:
    """A channel whose two ends are in one process. The child's end is this `Link`; the parent uses `tell` and
    `hear`."""

    def __init__(self) -> None:
        self._to_child, self._told = anyio.create_memory_object_stream[FromParent](math.inf)
        self._to_parent, self._heard = anyio.create_memory_object_stream[FromChild](math.inf)

    async def receive(self) -> FromParent | None:
        try:
            return await self._told.receive()
        except anyio.EndOfStream:
            return None

    def send(self, message: FromChild) -> None:
        self._to_parent.send_nowait(message)

    async def flush(self, within: float) -> None:
        """Return at once: each message has arrived when it is sent."""

    def tell(self, message: FromParent) -> None:
        self._to_child.send_nowait(message)

    async def hear(self) -> FromChild:
        """The child's next message."""
        return await self._heard.receive()

    def close(self) -> None:
        for stream in (self._to_child, self._told, self._to_parent, self._heard):
            stream.close()
