"""The panes of `top`: the columns of each, and its rows as a look found them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.core.rollup import MINUTE, Rollup, Series, sum_of
from holdfast.core.statistics import Percentiles, by_handler, by_lane, runs_of, runs_over_time, statistics
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import duration, fine_duration
from holdfast.core.worker_records import WorkerRecord
from holdfastd.cli import shown_values
from holdfastd.cli.shown_values import sparkline
from holdfastd.cli.top.look import MINUTES, Look
from holdfastd.control.socket_protocol import ProcessStatus

DEFAULT = "(default)"  # tasks that name no handler
WAITS = ((60.0, "red"), (10.0, "yellow"), (0.0, "green"))  # seconds from which a wait has this colour


@dataclass(frozen=True, slots=True)
class Column:
    """`keeps`: on a narrow screen, the column with the lowest number is left out first. A column of numbers is
    right-aligned."""

    title: str
    keeps: int
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class PaneRow:
    """`cells`: the text of each column; `order`: the values to sort by. `task_id` and `host`: the target of orders,
    empty for none. `is_bad`: the row is highlighted. `colours`: of single cells, by column."""

    cells: tuple[str, ...]
    order: tuple[float | str, ...]
    task_id: str = ""
    host: str = ""
    is_bad: bool = False
    colours: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pane:
    columns: tuple[Column, ...]
    rows: Callable[[Look], list[PaneRow]]
    empty: str


def _row(
    *cells: tuple[str, float | str],
    task_id: str = "",
    host: str = "",
    is_bad: bool = False,
    colours: tuple[tuple[int, str], ...] = (),
) -> PaneRow:
    return PaneRow(tuple(text for text, _ in cells), tuple(key for _, key in cells), task_id, host, is_bad, colours)


def _text(value: str) -> tuple[str, str]:
    return value, value


def _number(value: float | None, text: Callable[[float], str] = "{:,.0f}".format) -> tuple[str, float]:
    return ("", -1.0) if value is None else (text(value), value)


def _mib(size: float) -> str:
    return f"{size / 2**20:.0f}M"


def rate_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# workers


def _workers(look: Look) -> list[PaneRow]:
    here = {each.incarnation: each for each in look.service.processes} if look.service else {}
    rows = [_worker(worker, here.get(worker.incarnation), look) for worker in sorted(look.workers, key=_place)]
    return [_process(each) for each in here.values() if each.kind not in shown_values.CLAIMING] + rows


def _place(worker: WorkerRecord) -> tuple[str, int]:
    return worker.host, worker.slot


def _worker(worker: WorkerRecord, process: ProcessStatus | None, look: Look) -> PaneRow:
    task_id = worker.running[0] if worker.running else ""
    task = look.running.get(task_id)
    state = "quiet" if worker.quiet and worker.state == "live" else worker.state
    busy = "busy" if worker.running else "idle"
    usage = (process.memory_bytes, process.cpu_percent, process.restarts) if process else (None, None, None)
    memory, cpu, restarts = usage
    return _row(
        _text(worker.host),
        _text(shown_values.process_name(worker.kind, worker.slot)),
        _number(worker.pid, str),
        _text(busy if state == "live" else state),
        _number(len(worker.running)),
        _text((task.name or DEFAULT) if task else ""),
        _text(task_id),
        _number(_age(task, look.now_ms), duration),
        _number(memory, _mib),
        _number(cpu, "{:.0f}%".format),
        _number(restarts),
        _number(worker.beat_ago_ms / 1000, duration),
        task_id=task_id,
        host=worker.host,
        is_bad=state not in {"live", "quiet", "draining"},
    )


def _process(process: ProcessStatus) -> PaneRow:
    return _row(
        _text("here"),
        _text(shown_values.process_name(process.kind, process.slot)),
        _number(process.pid, str),
        _text(process.state),
        _number(None),
        _text(""),
        _text(""),
        _number(None),
        _number(process.memory_bytes, _mib),
        _number(process.cpu_percent, "{:.0f}%".format),
        _number(process.restarts),
        _number(process.silent, duration),
    )


def _age(task: TaskRecord | None, now_ms: int) -> float | None:
    """Seconds since it was accepted."""
    return max(0, now_ms - task.created_ms) / 1000 if task else None


# lanes and handlers

OLDEST, WAIT_P95 = 5, 6  # columns of lanes


def _recent(look: Look, rollups: Mapping[int, Rollup]) -> tuple[Rollup, float]:
    """The sum of the last whole minute and of the present one, and how many seconds that is."""
    this = look.now_ms // MINUTE * MINUTE
    total = sum_of(rollup for at, rollup in rollups.items() if at >= this - MINUTE)
    return total, (look.now_ms - this + MINUTE) / 1000


def _lanes(look: Look) -> list[PaneRow]:
    if look.lanes is None:
        return []
    recent, _ = _recent(look, look.minutes)
    figures = by_lane(recent)
    courses = _courses(look, lambda series: series.lane)
    rows: list[PaneRow] = []
    for lane in look.lanes.lanes:
        rates, measured = look.rates.get(lane.name), figures.get(lane.name)
        wait = Percentiles.of(measured.wait) if measured else None
        oldest = None if lane.oldest_ms is None else max(0, look.now_ms - lane.oldest_ms) / 1000
        paused = f"paused: {lane.paused_because}" if lane.is_paused else ""
        state = paused or ("" if lane.workers else "no worker serves it")
        rows.append(
            _row(
                _text(lane.name),
                _number(lane.waiting),
                _number(lane.running),
                _number(rates.coming if rates else None, rate_text),
                _number(rates.leaving if rates else None, rate_text),
                _number(oldest, duration),
                _number(wait.p95 if wait else None, fine_duration),
                _number(lane.workers),
                _text(courses.get(lane.name, "")),
                _text(state),
                is_bad=bool(paused) or (not lane.workers and lane.waiting > 0),
                colours=((OLDEST, _wait_colour(oldest)), (WAIT_P95, _wait_colour(wait.p95 if wait else None))),
            )
        )
    return rows


def _wait_colour(wait: float | None) -> str:
    return "" if wait is None else next(colour for least, colour in WAITS if wait >= least)


def course(look: Look) -> str:
    """The runs of the last minutes, one bar for each minute."""
    return sparkline(runs_over_time(look.minutes, _first_minute(look), MINUTE, MINUTES))


def _courses(look: Look, name_of: Callable[[Series], str]) -> dict[str, str]:
    """The bars of each lane or handler, made in one pass over all figures."""
    counts: dict[str, list[int]] = {}
    for at, rollup in look.minutes.items():
        step = (at - _first_minute(look)) // MINUTE
        for series, figures in rollup.items() if 0 <= step < MINUTES else ():
            counts.setdefault(name_of(series), [0] * MINUTES)[step] += runs_of(figures)
    return {name: sparkline(each) for name, each in counts.items()}


def _first_minute(look: Look) -> int:
    return look.now_ms // MINUTE * MINUTE - (MINUTES - 1) * MINUTE


def _handlers(look: Look) -> list[PaneRow]:
    total = by_handler(sum_of(look.minutes.values()))
    recent, length = _recent(look, look.minutes)
    latest = by_handler(recent)
    courses = _courses(look, lambda series: series.handler)
    rows: list[PaneRow] = []
    for each in statistics(total, MINUTES * 60.0):
        now = latest.get(each.name)
        rate = runs_of(now) / length if now else 0.0
        run, wait = each.run, each.wait
        rows.append(
            _row(
                _text(each.name or DEFAULT),
                _number(each.runs),
                _number(rate, rate_text),
                _number(each.failures),
                _number(each.retries),
                _number(each.crashes),
                _number(run.p50 if run else None, fine_duration),
                _number(run.p95 if run else None, fine_duration),
                _number(run.p99 if run else None, fine_duration),
                _number(wait.p95 if wait else None, fine_duration),
                _text(courses.get(each.name, "")),
                is_bad=each.crashes > 0,
            )
        )
    return rows


# tasks, deaths, schedules


def _tasks(look: Look) -> list[PaneRow]:
    tasks = [*sorted(look.running.values(), key=lambda task: task.created_ms), *look.dead]
    return [
        _row(
            _text(task.task_id),
            _text("dead letter" if task.dead else str(task.state)),
            _text(task.name or DEFAULT),
            _text(task.lane),
            _number(_age(task, look.now_ms), duration),
            _number(task.deliveries),
            _text(task.progress or task.reason),
            task_id=task.task_id,
            is_bad=task.dead,
        )
        for task in tasks
    ]


def _deaths(look: Look) -> list[PaneRow]:
    if look.service is None:
        return []
    return [
        _row(
            _number(max(0.0, look.now_ms / 1000 - death.at), duration),
            _text(shown_values.process_name(death.kind, death.slot)),
            _number(death.pid, str),
            _text(f"{death.cause} {death.detail}".strip()),
            _number(death.lived, duration),
            _number(death.peak_bytes, _mib),
            _text(" ".join(death.running)),
            task_id=death.running[0] if death.running else "",
            is_bad=True,
        )
        for death in reversed(look.service.deaths.recent)
    ]


def _schedules(look: Look) -> list[PaneRow]:
    return [
        _row(
            _text(each.definition.schedule_id),
            _number(None if each.due is None else max(0, each.due - look.now_ms) / 1000, duration),
            _number(each.fires),
            _text(f"paused: {each.paused}" if each.paused else each.ended),
            _text(each.task),
            task_id=each.task,
            is_bad=bool(each.paused),
        )
        for each in look.schedules
    ]


PANES: dict[str, Pane] = {
    "workers": Pane(
        (
            *(Column("host", 5), Column("process", 12), Column("pid", 3, True), Column("state", 11)),
            *(Column("tasks", 8, True), Column("handler", 9), Column("task", 7), Column("age", 10, True)),
            *(Column("memory", 6, True), Column("cpu", 4, True), Column("restarts", 2, True), Column("heard", 1, True)),
        ),
        _workers,
        "no worker is registered in the store",
    ),
    "lanes": Pane(
        (
            *(
                Column("lane", 9),
                Column("waiting", 8, True),
                Column("running", 7, True),
                Column("in/s", 6, True),
                Column("out/s", 6, True),
            ),
            *(Column("oldest", 5, True), Column("wait p95", 4, True), Column("workers", 2, True)),
            *(Column("15 minutes", 3), Column("", 1)),
        ),
        _lanes,
        "no lane has had a task",
    ),
    "handlers": Pane(
        (
            *(Column("handler", 12), Column("runs", 11, True), Column("runs/s", 10, True), Column("failed", 9, True)),
            *(Column("retries", 3, True), Column("crashes", 6, True), Column("run p50", 5, True)),
            *(Column("p95", 8, True), Column("p99", 1, True), Column("wait p95", 4, True), Column("15 minutes", 2)),
        ),
        _handlers,
        "nothing has run in the last 15 minutes",
    ),
    "tasks": Pane(
        (
            *(Column("task", 9), Column("state", 8), Column("handler", 7), Column("lane", 2)),
            *(Column("age", 6, True), Column("runs", 1, True), Column("", 4)),
        ),
        _tasks,
        "no task runs, and there are no dead letters",
    ),
    "deaths": Pane(
        (
            *(Column("ago", 9, True), Column("process", 8), Column("pid", 3, True), Column("cause", 7)),
            *(Column("lived", 4, True), Column("peak", 1, True), Column("tasks", 5)),
        ),
        _deaths,
        "no process of this host's supervisor has died",
    ),
    "schedules": Pane(
        (Column("schedule", 5), Column("due in", 4, True), Column("fires", 2, True), Column("", 3), Column("task", 1)),
        _schedules,
        "no schedule is due within seven days",
    ),
}


def shown_rows(pane: Pane, look: Look, wanted: str, sort: int | None, *, is_reversed: bool) -> Sequence[PaneRow]:
    """The rows that contain a text, in the pane's order or by a column: numbers from the highest, text from A."""
    rows = [row for row in pane.rows(look) if wanted.casefold() in " ".join(row.cells).casefold()]
    if sort is not None:
        highest_first = pane.columns[sort].is_number
        rows.sort(key=lambda row: row.order[sort], reverse=highest_first)
    return rows[::-1] if is_reversed else rows
