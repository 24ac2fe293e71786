"""The panes of `top`: the columns of each, and its rows as a look found them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from holdfast.core.rollup import MINUTE, Rollup, Series, sum_of
from holdfast.core.statistics import Percentiles, by_handler, by_lane, runs_of, runs_over_time, statistics
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import duration, fine_duration
from holdfast.core.worker_records import WorkerRecord
from holdfastd.cli import shown_values
from holdfastd.cli.shown_values import process_name, sparkline
from holdfastd.cli.top.look import MINUTES, Look
from holdfastd.control.socket_protocol import ProcessStatus

DEFAULT = "(default)"  # tasks that name no handler
WAITS = ((60.0, "red"), (10.0, "yellow"), (0.0, "green"))  # seconds from which a wait has this colour

Value = float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a pane. `keeps`: a narrow screen leaves out the column with the lowest number first. `number`: makes
    the text of a number; None for a column of texts. Numbers are right-aligned."""

    title: str
    keeps: int
    number: Callable[[float], str] | None = None

    def cell(self, value: Value) -> str:
        if value is None:
            return ""
        return self.number(value) if self.number and not isinstance(value, str) else str(value)


@dataclass(frozen=True, slots=True)
class PaneRow:
    """A row of a pane. `values`: one for each column, to sort by; `cells`: their texts. `task_id` and `host`: what an
    order of the operator changes, empty if nothing. `is_bad`: the row is highlighted. `colours`: the colours of single
    cells, by column."""

    values: tuple[Value, ...]
    cells: tuple[str, ...] = ()
    task_id: str = ""
    host: str = ""
    is_bad: bool = False
    colours: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pane:
    """One pane of the screen. `found`: makes the rows of a look, without their cells. `empty`: the text of a pane
    without rows."""

    columns: tuple[Column, ...]
    found: Callable[[Look], Iterable[PaneRow]]
    empty: str

    def rows(self, look: Look) -> list[PaneRow]:
        return [
            replace(
                row, cells=tuple(column.cell(value) for column, value in zip(self.columns, row.values, strict=True))
            )
            for row in self.found(look)
        ]


def count(value: float) -> str:
    return f"{value:,.0f}"


def mib(size: float) -> str:
    return f"{size / 2**20:.0f}M"


def percent(value: float) -> str:
    return f"{value:.0f}%"


def rate_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# workers


def _workers(look: Look) -> Iterable[PaneRow]:
    here = {each.incarnation: each for each in look.service.processes} if look.service else {}
    for process in here.values():
        if process.kind not in shown_values.CLAIMING:
            usage = (process.memory_bytes, process.cpu_percent, process.restarts, process.silent)
            name = process_name(process.kind, process.slot)
            yield PaneRow(("here", name, process.pid, process.state, None, "", "", None, *usage))
    for worker in sorted(look.workers, key=lambda worker: (worker.host, worker.slot)):
        yield _worker(worker, here.get(worker.incarnation), look)


def _worker(worker: WorkerRecord, process: ProcessStatus | None, look: Look) -> PaneRow:
    task_id = worker.running[0] if worker.running else ""
    task = look.running.get(task_id)
    state = "quiet" if worker.quiet and worker.state == "live" else worker.state
    busy = "busy" if worker.running else "idle"
    values = (
        *(worker.host, process_name(worker.kind, worker.slot), worker.pid, busy if state == "live" else state),
        *(len(worker.running), (task.name or DEFAULT) if task else "", task_id, _age(task, look.now_ms)),
        *((process.memory_bytes, process.cpu_percent, process.restarts) if process else (None, None, None)),
        worker.beat_ago_ms / 1000,
    )
    is_bad = state not in {"live", "quiet", "draining"}
    return PaneRow(values, task_id=task_id, host=worker.host, is_bad=is_bad)


def _age(task: TaskRecord | None, now_ms: int) -> float | None:
    """Seconds since the task was accepted; None if there is no task."""
    return max(0, now_ms - task.created_ms) / 1000 if task else None


# lanes and handlers

OLDEST, WAIT_P95 = 5, 6  # numbers of these columns in the pane of lanes


def _recent(look: Look) -> tuple[Rollup, float]:
    """The sum of the rollups of the last whole minute and of the present one, and the number of seconds that they
    cover."""
    this = look.now_ms // MINUTE * MINUTE
    total = sum_of(rollup for at, rollup in look.minutes.items() if at >= this - MINUTE)
    return total, (look.now_ms - this + MINUTE) / 1000


def _lanes(look: Look) -> Iterable[PaneRow]:
    figures = by_lane(_recent(look)[0])
    courses = _courses(look, lambda series: series.lane)
    for lane in look.lanes.lanes if look.lanes else ():
        rates, measured = look.rates.get(lane.name, (None, None)), figures.get(lane.name)
        percentiles = Percentiles.of(measured.wait) if measured else None
        wait = percentiles.p95 if percentiles else None
        oldest = None if lane.oldest_ms is None else max(0, look.now_ms - lane.oldest_ms) / 1000
        paused = f"paused: {lane.paused_because}" if lane.is_paused else ""
        state = paused or ("" if lane.workers else "no worker serves it")
        values = (lane.name, lane.waiting, lane.running, *rates, oldest, wait, lane.workers)
        yield PaneRow(
            (*values, courses.get(lane.name, ""), state),
            is_bad=bool(paused) or (not lane.workers and lane.waiting > 0),
            colours=((OLDEST, _wait_colour(oldest)), (WAIT_P95, _wait_colour(wait))),
        )


def _wait_colour(wait: float | None) -> str:
    return "" if wait is None else next(colour for least, colour in WAITS if wait >= least)


def course(look: Look) -> str:
    """The runs of the last minutes, one bar for each minute."""
    return sparkline(runs_over_time(look.minutes, _first_minute(look), MINUTE, MINUTES))


def _courses(look: Look, name_of: Callable[[Series], str]) -> dict[str, str]:
    """The bars of each lane or handler, by name."""
    counts: dict[str, list[int]] = {}
    for at, rollup in look.minutes.items():
        step = (at - _first_minute(look)) // MINUTE
        for series, figures in rollup.items() if 0 <= step < MINUTES else ():
            counts.setdefault(name_of(series), [0] * MINUTES)[step] += runs_of(figures)
    return {name: sparkline(each) for name, each in counts.items()}


def _first_minute(look: Look) -> int:
    return look.now_ms // MINUTE * MINUTE - (MINUTES - 1) * MINUTE


def _handlers(look: Look) -> Iterable[PaneRow]:
    total = by_handler(sum_of(look.minutes.values()))
    recent, length = _recent(look)
    latest = by_handler(recent)
    courses = _courses(look, lambda series: series.handler)
    for each in statistics(total, MINUTES * 60.0):
        now = latest.get(each.name)
        rate = runs_of(now) / length if now else 0.0
        run = (each.run.p50, each.run.p95, each.run.p99) if each.run else (None, None, None)
        counts = (each.runs, rate, each.failures, each.retries, each.crashes)
        wait = each.wait.p95 if each.wait else None
        values = (each.name or DEFAULT, *counts, *run, wait, courses.get(each.name, ""))
        yield PaneRow(values, is_bad=each.crashes > 0)


# tasks, deaths, schedules


def _tasks(look: Look) -> Iterable[PaneRow]:
    for task in (*sorted(look.running.values(), key=lambda task: task.created_ms), *look.dead):
        state = "dead letter" if task.dead else str(task.state)
        numbers = (_age(task, look.now_ms), task.deliveries)
        values = (task.task_id, state, task.name or DEFAULT, task.lane, *numbers, task.progress or task.reason)
        yield PaneRow(values, task_id=task.task_id, is_bad=task.dead)


def _deaths(look: Look) -> Iterable[PaneRow]:
    for death in reversed(look.service.deaths.recent if look.service else []):
        ago, name = max(0.0, look.now_ms / 1000 - death.at), process_name(death.kind, death.slot)
        how = (f"{death.cause} {death.detail}".strip(), death.lived, death.peak_bytes)
        task_id = death.running[0] if death.running else ""
        yield PaneRow((ago, name, death.pid, *how, " ".join(death.running)), task_id=task_id, is_bad=True)


def _schedules(look: Look) -> Iterable[PaneRow]:
    for each in look.schedules:
        due = None if each.due is None else max(0, each.due - look.now_ms) / 1000
        state = f"paused: {each.paused}" if each.paused else each.ended
        values = (each.definition.schedule_id, due, each.fires, state, each.task)
        yield PaneRow(values, task_id=each.task, is_bad=bool(each.paused))


PANES: dict[str, Pane] = {
    "workers": Pane(
        (
            *(Column("host", 5), Column("process", 12), Column("pid", 3, str), Column("state", 11)),
            *(Column("tasks", 8, count), Column("handler", 9), Column("task", 7), Column("age", 10, duration)),
            *(Column("memory", 6, mib), Column("cpu", 4, percent)),
            *(Column("restarts", 2, count), Column("heard", 1, duration)),
        ),
        _workers,
        "no worker is registered in the store",
    ),
    "lanes": Pane(
        (
            *(Column("lane", 9), Column("waiting", 8, count), Column("running", 7, count)),
            *(Column("in/s", 6, rate_text), Column("out/s", 6, rate_text), Column("oldest", 5, duration)),
            *(Column("wait p95", 4, fine_duration), Column("workers", 2, count)),
            *(Column("15 minutes", 3), Column("", 1)),
        ),
        _lanes,
        "no lane has had a task",
    ),
    "handlers": Pane(
        (
            *(Column("handler", 12), Column("runs", 11, count), Column("runs/s", 10, rate_text)),
            *(Column("failed", 9, count), Column("retries", 3, count), Column("crashes", 6, count)),
            *(Column("run p50", 5, fine_duration), Column("p95", 8, fine_duration), Column("p99", 1, fine_duration)),
            *(Column("wait p95", 4, fine_duration), Column("15 minutes", 2)),
        ),
        _handlers,
        "nothing has run in the last 15 minutes",
    ),
    "tasks": Pane(
        (
            *(Column("task", 9), Column("state", 8), Column("handler", 7), Column("lane", 2)),
            *(Column("age", 6, duration), Column("runs", 1, count), Column("", 4)),
        ),
        _tasks,
        "no task runs, and there are no dead letters",
    ),
    "deaths": Pane(
        (
            *(Column("ago", 9, duration), Column("process", 8), Column("pid", 3, str), Column("cause", 7)),
            *(Column("lived", 4, duration), Column("peak", 1, mib), Column("tasks", 5)),
        ),
        _deaths,
        "no process of this host's supervisor has died",
    ),
    "schedules": Pane(
        (
            *(Column("schedule", 5), Column("due in", 4, duration), Column("fires", 2, count)),
            *(Column("", 3), Column("task", 1)),
        ),
        _schedules,
        "no schedule is due within seven days",
    ),
}


def shown_rows(pane: Pane, look: Look, wanted: str, sort: int | None, *, is_reversed: bool) -> Sequence[PaneRow]:
    """The rows that contain the text `wanted`, in the pane's order or sorted by the column `sort`: numbers from the
    highest, texts from A."""
    rows = [row for row in pane.rows(look) if wanted.casefold() in " ".join(row.cells).casefold()]
    if sort is not None:
        highest_first = pane.columns[sort].number is not None
        rows.sort(key=lambda row: -1.0 if (value := row.values[sort]) is None else value, reverse=highest_first)
    return rows[::-1] if is_reversed else rows
