"""`supervisor status`: the supervisor, its processes, and counts from the store."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from shutil import get_terminal_size

import msgspec

from holdfast.core.counts import Counts, LedgerStatus
from holdfast.core.lanes import Lanes, wrong_end_mend, wrong_end_words
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.words import counted, duration
from holdfast.errors import StoreError
from holdfast.exits import Exit
from holdfast.why.outlook import missing
from holdfast_config.errors import BrokenSettingsError
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

    def document(self) -> dict[str, object]:
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
    """Show the supervisor, its processes with memory and CPU, its problems, and the number of tasks by state.

    On a terminal, the answer fits the screen: processes and deaths for which there is no room are only counted. --wide
    shows all of them.
    """
    service = ask(session.control_dir, AskStatus())
    store: StoreNumbers | str = "the settings that name it are invalid"
    standing: LedgerStatus | str | None = None
    with suppress(BrokenSettingsError):  # the warning about them is printed already
        store, standing = _numbers(session, service), shown_values.read_or_error(session)
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
    above, below = _above(service, store), _below(store)
    room = ScreenRoom.of([*above, *below], service, wide=wide)
    for line in above:
        output.hint(line)
    output.text("")
    _print_processes(service, room.processes, wide=wide)
    _print_deaths(service, room.deaths, wide=wide)
    output.text("")
    for line in below:
        output.hint(line)


def _above(service: SupervisorStatus, store: StoreNumbers | str) -> list[str]:
    """The lines about the supervisor as a whole."""
    workers = f"{service.ready} of {service.target} workers ready"
    up = duration(service.uptime)
    lines = [
        f"supervisor {service.version}, pid {service.pid}, {service.state} for {up}: {workers}",
        f"store {service.store.url}" + (", embedded" if service.store.embedded else ""),
    ]
    impaired = ("degraded", service.degraded), ("held back", service.breaker)
    others = (
        ("handler not preloaded", service.not_preloaded),
        ("not applied until a restart", ", ".join(service.not_applied)),
    )
    lines += [f"{word}: {cause}" for word, cause in (*impaired, *others) if cause]
    if waiting := suspect_words(service.quarantine):
        lines.append(waiting)
    return lines if isinstance(store, str) else [*lines, *shown_values.lines(store.quiet, store.lanes.now_ms)]


def _below(store: StoreNumbers | str) -> list[str]:
    """The lines about tasks and lanes."""
    if isinstance(store, str):
        return [f"no counts from the store: {store}"]
    paused = [f"lane {lane} is paused: {why}" for lane, why in store.paused.items()]
    filled = [
        f"lane {name}: a producer pushes at the wrong end, where workers take: {x}"
        for name, x in store.wrong_end.items()
    ]
    return [_counts(store.counts), *_first(paused), *_first(store.unserved), *_first(filled)]


MOST_LANES = 5  # lines of one kind, and lanes in the line of counts


def _first(lines: Sequence[str]) -> list[str]:
    more = len(lines) - MOST_LANES
    return [*lines[:MOST_LANES], *([f"and {more} more: supervisor lanes list"] if more > 0 else [])]


@dataclass(frozen=True, slots=True)
class ScreenRoom:
    """The numbers of processes and of deaths for which the terminal has rows."""

    processes: int
    deaths: int

    @classmethod
    def of(cls, others: Sequence[str], service: SupervisorStatus, *, wide: bool) -> ScreenRoom:
        """Compute the room from the height of the terminal. `others`: the lines that are printed in any case. In a pipe
        and with `wide` there is room for everything."""
        processes, deaths = len(service.processes), min(len(service.deaths.recent), MOST_DEATHS)
        if wide or not sys.stdout.isatty():
            return cls(processes, deaths)
        screen = get_terminal_size()
        left = screen.lines - FRAME - sum(max(1, -(-len(line) // screen.columns)) for line in others)
        if service.deaths.total:
            left -= FRAME_OF_DEATHS
            deaths = min(deaths, max(1, left - processes, left // 4))
            left -= deaths
        return cls(processes if processes <= left else max(1, left - 1), deaths)


FRAME = 6  # rows: two empty ones, the head of the table with its rule, a remark on columns, the next prompt
FRAME_OF_DEATHS = 5  # rows: an empty one, the heading, the head of the table with its rule, a remark on columns
MOST_DEATHS = 5


def _print_processes(service: SupervisorStatus, room: int, *, wide: bool) -> None:
    """Print as many processes as there is room for: first those that are no ready workers."""
    processes = service.processes
    unusual_first = sorted(
        processes, key=lambda each: each.kind == "worker" and each.state == "ready" and not _silent(each)
    )
    shown = {each.pid for each in unusual_first[:room]}
    rows = [_cells(each) for each in processes if each.pid in shown]
    tables.table(COLUMNS, rows, FIT, wide=wide)
    if more := len(processes) - len(rows):
        output.text(f"and {counted(more, 'more process', 'more processes')}: --wide shows all")


def _cells(process: ProcessStatus) -> tuple[object, ...]:
    name = shown_values.process_name(process.kind, process.slot)
    memory = None if process.memory_bytes is None else round(process.memory_bytes / 2**20, 1)
    done = (len(process.running), process.settled, process.restarts)
    state = f"{process.state}, silent for {duration(process.silent)}" if _silent(process) else process.state
    return (name, process.pid, state, duration(process.uptime), *done, process.cpu_percent, memory)


def _silent(process: ProcessStatus) -> bool:
    return process.silent > SILENT


def _print_deaths(service: SupervisorStatus, room: int, *, wide: bool) -> None:
    if not service.deaths.total:
        return
    output.text("")
    output.text("1 death:" if service.deaths.total == 1 else f"{service.deaths.total} deaths, the last of them:")
    rows = [shown_values.cells(each) for each in service.deaths.recent[-room:]]
    tables.table(shown_values.DEATH_COLUMNS, rows, shown_values.DEATH_FIT, wide=wide)


def _counts(counts: Counts) -> str:
    tasks = [f"{n} {state}" for state, n in counts.states.items() if n]
    lanes = sorted(counts.lanes.items(), key=lambda lane: -lane[1])
    waiting = [f"{n} in {lane}" for lane, n in lanes[:MOST_LANES]]
    if len(lanes) > MOST_LANES:
        waiting.append(f"{sum(n for _, n in lanes[MOST_LANES:])} in {counted(len(lanes) - MOST_LANES, 'other lane')}")
    others = (counted(counts.dead, "dead letter"), f"{counts.unreadable} unreadable")
    return ", ".join((*tasks, *waiting, *others, f"{counted(counts.workers, 'worker')} on all hosts"))
