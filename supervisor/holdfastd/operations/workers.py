"""Acts on the supervisor of this host: set its number of workers, and write the stacks of a worker."""

from __future__ import annotations

import socket
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.core.plain_json import shown
from holdfastd.control.local_supervisor import LocalSupervisor, WorkerStacks
from holdfastd.control.socket_protocol import ControlError
from holdfastd.operations.act import Act, Doing

MOST_WORKERS = 10_000

Workers = Annotated[int, Meta(ge=1, le=MOST_WORKERS, description="Number of workers.")]


class ScaleWorkers(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The number of workers, and the host that gets it; null: this host."""

    workers: Workers
    host: str | None = None


class WriteStacks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`worker`: the number, process id or incarnation of a worker, or the id of a task that it runs. Of an incarnation
    and of a task id the beginning is enough. Empty: all workers."""

    worker: str = ""


class ScaledPool(TypedDict):
    """The number of workers from now on."""

    target: int


async def scale_workers(doing: Doing, given: ScaleWorkers) -> ScaledPool:
    """Run N workers from now on. If there are more, idle ones end first and busy ones after their running tasks."""
    here = socket.gethostname()
    if given.host not in (None, here):
        raise ControlError(
            f"host {shown(given.host)} is not the host of this dashboard, {here!r}: "
            f"run supervisor scale {given.workers} there"
        )
    doing.asked.subject = here
    supervisor = await _supervisor(doing)
    found, target = await supervisor.find(), await supervisor.scale(given.workers)
    doing.asked.outcome = f"{found.status.target} → {target}" if found else f"to {target}"
    return {"target": target}


async def write_stacks(doing: Doing, given: WriteStacks) -> list[WorkerStacks]:
    """Print the stacks of tasks and threads of workers: the lines of code that they are at now.

    WORKER is a number or process id from `supervisor status`, or an incarnation; TASK is a task that a worker runs now.
    Of an incarnation and of a task id the beginning is enough. Default: all workers of the supervisor of this host.
    """
    return await (await _supervisor(doing)).write_stacks(given.worker)


async def _supervisor(doing: Doing) -> LocalSupervisor:
    """The supervisor that an act asks. If it serves another queue, Activity of this queue gets no entry."""
    supervisor = LocalSupervisor(doing.settings, doing.folder)
    if await supervisor.serves_another():
        doing.asked.lost = "its supervisor serves another queue, or that of another store"
    return supervisor


SCALE_WORKERS = Act("workers/scale", ScaleWorkers, scale_workers, "host")
WRITE_STACKS = Act("workers/stacks", WriteStacks, write_stacks, "worker")
