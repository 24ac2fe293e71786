"""`supervisor status`: the supervisor, its processes, and counts from the store."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from holdfast.core.counts import Counts, LedgerStatus
from holdfast.core.lanes import Lanes, wrong_end_mend, wrong_end_words
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.words import counted, duration
from holdfast.errors import StoreError
from holdfast.exits import Exit
from holdfast.why.outlook import missing
from holdfastd.cli import shown_values
from holdfastd.cli.common import Session, options, output, tables
from holdfastd.cli.common.store_session import Store
from holdfastd.cli.common.store_session import ask as ask_store
from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskStatus, ProcessStatus, QuarantineStatus, SupervisorStatus
from holdfastd.documents.queue_documents import quiet_documents

# The line on suspects: tasks that ended their workers and wait for a quarantine worker.


def suspect_words(status: QuarantineStatus) -> str:
    """One line about the suspects that wait; empty if none waits."""
    if not status.waiting:
        return ""
    wait = counted(status.waiting, "suspect waits", "suspects wait")
    most = "1 quarantine worker runs" if status.most == 1 else f"at most {status.most} quarantine workers run"
    reason = f"none is started: {status.held_back}" if status.held_back else f"{most} one at a time"
    return f"quarantine: {wait}; {reason}"


COLUMNS = ("process", "pid", "state", "up", "running", "settled", "restarts", "cpu %", "MiB")
FIT = tables.TableFit(drop=("settled", "restarts", "cpu %", "pid"))
SILENT = 5.0  # seconds without a heartbeat after which a process is shown as silent


@dataclass(frozen=True, slots=True)
class StoreNumbers:
    """The store's counts, lanes and quiet hosts. Three calls read them, one after the other."""

    counts: Counts
    lanes: Lanes
    quiet: tuple[Quiet, ...]

    @property
    def paused(self) -> dict[str, str]:
        """The paused lanes: name to the reason."""
        return {lane.name: lane.paused_because for lane in self.lanes.lanes if lane.is_paused}

    @property
    def unserved(self) -> list[str]:
        """Lines about waiting tasks for whose lane or handler there is no live worker."""
        lines = [
            f"lane {lane.name}: no live worker serves it, {lane.waiting} waiting"
            for lane in self.lanes.lanes
            if lane.waiting and not lane.workers
        ]
        return lines + [
            f"{missing(lane.name, name)}, {count} waiting"
            for lane in self.lanes.lanes
            for name, count in lane.missing.items()
            if lane.workers
        ]

    @property
    def wrong_end(self) -> dict[str, str]:
        """The lanes that a producer fills at the wrong end: name to the cause and the remedy."""
        return {
            lane.name: f"{words}: {wrong_end_mend(lane.name, turned=lane.end.value == 'tail')}"
            for lane in self.lanes.lanes
            if (words := wrong_end_words(lane, self.lanes.now_ms))
        }

    def document(self) -> dict[str, Any]:
        stands = {
            "paused": self.paused,
            "unserved": self.unserved,
            "wrong_end": self.wrong_end,
            "quiet": quiet_documents(self.quiet),
        }
        return {"counts": asdict(self.counts), **stands}


@options.command(epilog="Example: supervisor status --json")
@options.listing
def status(session: Session, /) -> int:
    """Show the supervisor, its processes with memory and CPU, its problems, and the number of tasks by state."""
    service = ask(session.runtime_dir, AskStatus())
    store = _numbers(session, service)
    standing = shown_values.read_or_error(session)
    if session.json:
        numbers = {"counts": store} if isinstance(store, str) else store.document()
        kept = asdict(standing) if isinstance(standing, LedgerStatus) else standing
        output.document(msgspec.to_builtins(service) | numbers | ({"ledger": kept} if kept else {}))
    else:
        _print(service, store, wide=session.wide)
        if standing is not None:
            output.text(standing if isinstance(standing, str) else shown_values.ledger_summary(standing))
    return Exit.OK


async def _look(store: Store) -> StoreNumbers:
    return StoreNumbers(await store.counts(), await store.lanes([]), await store.quiet_hosts())


def _numbers(session: Session, service: SupervisorStatus) -> StoreNumbers | str:
    """The numbers of the store, or the error if the store is away. Such an error must not hide the rest of the
    status."""
    if session.settings.embedded and not service.store.embedded:
        return f"the supervisor uses {service.store.url}: give this command the same URL (--redis-url, or REDIS_URL)"
    try:
        return ask_store(session, _look)
    except StoreError as error:
        return str(error)


def _print(service: SupervisorStatus, store: StoreNumbers | str, *, wide: bool) -> None:
    workers = f"{service.ready} of {service.target} workers ready"
    up = duration(service.uptime)
    output.text(f"supervisor {service.version}, pid {service.pid}, {service.state} for {up}: {workers}")
    output.text(f"store {service.store.url}" + (", embedded" if service.store.embedded else ""))
    impaired = ("degraded", service.degraded), ("held back", service.breaker)
    for word, cause in (*impaired, ("handler not preloaded", service.not_preloaded)):
        if cause:
            output.text(f"{word}: {cause}")
    if waiting := suspect_words(service.quarantine):
        output.text(waiting)
    for line in () if isinstance(store, str) else shown_values.lines(store.quiet, store.lanes.now_ms):
        output.hint(line)
    output.text("")
    tables.table(COLUMNS, [_cells(process) for process in service.processes], FIT, wide=wide)
    _print_deaths(service, wide=wide)
    output.text("")
    if isinstance(store, str):
        output.text(f"no counts from the store: {store}")
    else:
        _print_counts(store.counts)
        for lane, why in store.paused.items():
            output.hint(f"lane {lane} is paused: {why}")
        filled = (
            f"lane {name}: a producer pushes at the wrong end, where workers take: {x}"
            for name, x in store.wrong_end.items()
        )
        for line in (*store.unserved, *filled):
            output.hint(line)


def _cells(process: ProcessStatus) -> tuple[object, ...]:
    name = shown_values.process_name(process.kind, process.slot)
    memory = None if process.memory_bytes is None else round(process.memory_bytes / 2**20, 1)
    done = (len(process.running), process.settled, process.restarts)
    state = f"{process.state}, silent for {duration(process.silent)}" if process.silent > SILENT else process.state
    return (name, process.pid, state, duration(process.uptime), *done, process.cpu_percent, memory)


def _print_deaths(service: SupervisorStatus, *, wide: bool) -> None:
    if not service.deaths.total:
        return
    output.text("")
    output.text("1 death:" if service.deaths.total == 1 else f"{service.deaths.total} deaths, the last of them:")
    rows = [shown_values.cells(each) for each in service.deaths.recent[-5:]]
    tables.table(shown_values.DEATH_COLUMNS, rows, shown_values.DEATH_FIT, wide=wide)


def _print_counts(counts: Counts) -> None:
    tasks: dict[str, Any] = {str(state): n for state, n in counts.states.items() if n}
    waiting = {f"in {lane}": n for lane, n in counts.lanes.items()}
    amounts = [f"{n} {name}" for name, n in (tasks | waiting).items()]
    others = (counted(counts.dead, "dead letter"), f"{counts.unreadable} unreadable")
    output.text(", ".join((*amounts, *others, f"{counted(counts.workers, 'worker')} on all hosts")))
