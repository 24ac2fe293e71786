"""`supervisor demo`: kills workers and stewards while tasks run, and checks that no task is lost."""

from __future__ import annotations

import signal
from dataclasses import asdict
from types import FrameType

import click
from rich.console import Console
from rich.live import Live

from holdfast.core.words import counted
from holdfast.exits import Exit
from holdfastd.cli.common import CommandError, Session, options, output
from holdfastd.demo import demonstration
from holdfastd.demo.demonstration import Demonstration, DemoProgress, ShowProgress, run_demo
from holdfastd.demo.supervisor_process import DemoError
from holdfastd.demo.tally import ALL_KEPT, DemoResult
from holdfastd.parent.received_signals import is_ignored

REPORT_INTERVAL = 5.0  # seconds between two lines of progress where there is no terminal


@options.command(epilog="Examples:\n\nsupervisor demo\n\nsupervisor demo --tasks 500 --seconds 10 --seed 7 --json")
@click.option("--tasks", type=click.IntRange(1, 1_000_000), default=2000, show_default=True, help="Number of tasks.")
@click.option(
    "--seconds",
    type=click.FloatRange(1, 86_400),
    default=30.0,
    show_default=True,
    help="Time in seconds over which the tasks are submitted.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=8, show_default=True, help="Number of workers.")
@click.option(
    "--seed",
    type=int,
    default=1,
    show_default=True,
    help="Seed of the random choices: texts, and which processes are killed.",
)
@options.common
@options.pass_session
def demo(session: Session, /, tasks: int, seconds: float, workers: int, seed: int) -> int:
    """Run a demonstration: it kills workers all the time and the steward twice (kill -9), and no task is lost.

    It starts its own supervisor with an embedded store. The tasks count the words of real texts. At the end it checks
    that each task completed once with the right result; if not, the exit status is 1. Then it removes everything that
    it created.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):  # SIGHUP: the terminal was closed
        if not is_ignored(number):
            signal.signal(number, _as_interrupt)
    program = Demonstration(tasks, seconds, workers, seed)
    try:
        result = _watched(program) if session.for_people else run_demo(program, _lines(session))
    except DemoError as error:
        raise CommandError(str(error), error.status or Exit.FAILED) from error
    breaches = result.breaches(tasks)
    _print(session, result, breaches)
    return Exit.FAILED if breaches else Exit.OK


def _as_interrupt(_number: int, _frame: FrameType | None) -> None:
    """End like Ctrl-C, so that the demonstration removes everything that it created."""
    signal.raise_signal(signal.SIGINT)


def _watched(program: Demonstration) -> DemoResult:
    with Live(console=Console(), refresh_per_second=10, transient=False) as live:
        return run_demo(program, lambda progress: live.update(demonstration.progress_panel(progress)))


def _lines(session: Session) -> ShowProgress:
    """A function that prints a line of progress every REPORT_INTERVAL seconds. With --json it prints nothing."""
    due = [REPORT_INTERVAL]

    def show(progress: DemoProgress) -> None:
        if progress.seconds >= due[0] and not session.json:
            due[0] += REPORT_INTERVAL
            recorder, killed = progress.recorder, counted(len(progress.killer.killed), "worker")
            counts = f"{len(recorder.commits)} of {progress.submitted} completed, {recorder.redelivered} redelivered"
            output.text(f"{progress.seconds:.0f} s: {counts}, {killed} killed")

    return show


def _print(session: Session, result: DemoResult, breaches: list[str]) -> None:
    if session.for_people:
        Console().print(demonstration.result_panel(result, breaches))
        return
    lines = [f"{name:<20} {value}" for name, value in result.rows()]
    document = asdict(result) | {"lost": result.lost, "breaches": breaches}
    session.answer(document, *lines, *(breaches or [ALL_KEPT]))
