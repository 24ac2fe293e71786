"""`supervisor stats`: figures of the last hours or days from the rollups, beside those of the period before."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

import click

from holdfast.core.rollup import MINUTE, PACKED_KEPT_MS
from holdfast.core.statistics import Percentiles, Statistic
from holdfast.core.words import duration, fine_duration
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import Store, ask
from holdfastd.cli.shown_values import sparkline
from holdfastd.documents import printed_times
from holdfastd.documents.period_report import Compared, Report, read_report

# Prints a report: as text with tables and a row of bars, or as CSV.

MOST = 10  # rows of a table
COLUMNS = ("runs", "a second", "failed", "retries", "crashes", "wait p50", "p95", "p99", "run p50", "p95", "p99")
FIT = tables.TableFit(drop=("crashes", "retries", "a second", "wait p50", "run p50"))
CSV_COLUMNS = (
    *("handler", "runs", "rate", "completed", "failures", "retries", "crashes", "lost_samples"),
    *("wait_p50", "wait_p95", "wait_p99", "run_p50", "run_p95", "run_p99"),
    *("recovery_p50", "recovery_p95", "recovery_p99"),
)


def print_text(report: Report, *, wide: bool) -> None:
    length = duration(report.seconds)
    output.text(
        f"{printed_times.utc(report.start_ms)} to {printed_times.utc(report.end_ms)}: the last {length}, "
        f"in brackets the {length} before"
    )
    tables.plain([(name, value(report.total)) for name, value in _LINES])
    runs = [step.runs for step in report.course.values()]
    output.text(f"runs {_each(report.step_ms)}: |{sparkline(runs)}| at most {max(runs):,}")
    _print_table("handler", "busiest handlers", report.handlers, wide=wide)
    _print_table("handler", "slowest handlers", _slowest(report.handlers), wide=wide)
    _print_table("lane", "lanes", report.lanes, wide=wide)


def _each(step_ms: int) -> str:
    minutes = step_ms // MINUTE
    return "each minute" if minutes == 1 else f"each {minutes} minutes"


def print_csv(report: Report) -> None:
    rows = io.StringIO()
    writer = csv.writer(rows, lineterminator=output.LINE_END)
    writer.writerow(CSV_COLUMNS)
    writer.writerows(_csv_row(each.now) for each in report.handlers)
    click.echo(rows.getvalue(), nl=False)


def _print_table(what: str, title: str, rows: Sequence[Compared], *, wide: bool) -> None:
    if not rows:
        return
    output.text("")
    more = f", {MOST} of {len(rows)}" if len(rows) > MOST else ""
    output.text(title + more)
    tables.table((what, *COLUMNS), [_row(each) for each in rows[:MOST]], FIT, wide=wide)


def _row(each: Compared) -> tuple[str, ...]:
    name = each.now.name or "(default)"
    return (name, *(value(each) for _, value in _LINES[:5]), *_percentiles(each, _wait), *_percentiles(each, _run))


def _slowest(rows: Sequence[Compared]) -> list[Compared]:
    timed = [each for each in rows if each.now.run]
    return sorted(timed, key=lambda each: -each.now.run.p95 if each.now.run else 0.0)


def _wait(statistic: Statistic) -> Percentiles | None:
    return statistic.wait


def _run(statistic: Statistic) -> Percentiles | None:
    return statistic.run


def _percentiles(each: Compared, of: Callable[[Statistic], Percentiles | None]) -> tuple[str, str, str]:
    def cell(name: str) -> str:
        return _beside(_share(of(each.now), name), _share(of(each.before), name) if each.before else None)

    return cell("p50"), cell("p95"), cell("p99")


def _share(found: Percentiles | None, name: str) -> str:
    return fine_duration(getattr(found, name)) if found else ""


def _beside(now: str, before: str | None) -> str:
    return f"{now or '-'} ({before})" if before else now or "-"


def _number(of: Callable[[Statistic], int]) -> Callable[[Compared], str]:
    return lambda each: _beside(f"{of(each.now):,}", f"{of(each.before):,}" if each.before else None)


def _rate(each: Compared) -> str:
    return _beside(f"{each.now.rate:.3g}", f"{each.before.rate:.3g}" if each.before else None)


def _three(of: Callable[[Statistic], Percentiles | None]) -> Callable[[Compared], str]:
    return lambda each: "  ".join(
        f"{name} {cell}" for name, cell in zip(("p50", "p95", "p99"), _percentiles(each, of), strict=True)
    )


_LINES: Sequence[tuple[str, Callable[[Compared], str]]] = (
    ("runs", _number(lambda each: each.runs)),
    ("a second", _rate),
    ("failed", _number(lambda each: each.failures)),
    ("retries", _number(lambda each: each.retries)),
    ("crashes", _number(lambda each: each.crashes)),
    ("wait", _three(_wait)),
    ("run", _three(_run)),
    ("recovery", _three(lambda statistic: statistic.recovery)),
)


def _csv_row(each: Statistic) -> tuple[object, ...]:
    def three(found: Percentiles | None) -> tuple[float | str, ...]:
        return (found.p50, found.p95, found.p99) if found else ("", "", "")

    numbers = (each.runs, each.rate, each.completed, each.failures, each.retries, each.crashes, each.lost_samples)
    return (output.safe(each.name), *numbers, *three(each.wait), *three(each.run), *three(each.recovery))


@options.command(epilog="Examples: supervisor stats; supervisor stats --since 1d --handler mail.send --json")
@click.option("--handler", metavar="NAME", help="Only tasks of this handler; '' for tasks that name no handler.")
@click.option("--lane", metavar="LANE", help="Only tasks of this lane.")
@click.option(
    "--since",
    type=parameters.DURATION,
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="Length of the period: 10m, 1h, 7d, at most 15d.",
)
@click.option("--csv", "is_csv", is_flag=True, help="Print CSV, a row for each handler.")
@options.listing
def stats(session: Session, /, handler: str | None, lane: str | None, since: float, is_csv: bool) -> None:
    """Show rates, failures, waiting times and run times of all hosts in a period, beside those of the period before.

    `recovery` is the time from the loss of a worker until its tasks were put back. Figures for each minute are kept for
    eight hours, figures for each ten minutes for thirty days. The number of runs is exact. If a worker died, the run
    times of its last second are missing.
    """
    if is_csv and session.json:
        raise click.UsageError("give either --json or --csv")
    length_ms = round(since * 1000)
    if not MINUTE <= length_ms <= PACKED_KEPT_MS // 2:
        raise click.BadParameter(f"{since:g} s is not allowed: give a duration from 1m to 15d", param_hint="--since")

    async def read(store: Store) -> Report:
        return await read_report(store, length_ms, handler, lane)

    report = ask(session, read)
    if session.json:
        output.document(report.document())
    elif is_csv:
        print_csv(report)
    else:
        print_text(report, wide=session.wide)
