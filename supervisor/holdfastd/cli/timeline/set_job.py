"""`supervisor set` and `supervisor unset`: the schedule of a job."""

from __future__ import annotations

from typing import Any

import click
import rich_click

from holdfastd.cli.common import options
from holdfastd.cli.common.act_command import given_of, print_answer
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import operate
from holdfastd.operations.timeline_jobs import SET_JOB, UNSET_JOB


@rich_click.command(
    "set",
    help=SET_JOB.help,
    epilog="Examples:\n\nsupervisor set crawl:A CONTINUE\n\n"
    "supervisor set report:B 'RRULE:FREQ=DAILY'\n\nsupervisor set report:B AT:1767225600",
)
@click.argument("jobid", metavar="JOBID")
@click.argument("schedule", metavar="SCHEDULE")
@click.option("-a", "--after", metavar="TIME", help="Skip fires of a rule up to this time. Default: now.")
@click.option(
    "--on-failure",
    type=click.Choice(["stop", "continue"]),
    default="stop",
    show_default=True,
    help="After a failed run: stop or continue.",
)
@click.option(
    "--max-attempts", type=int, default=1, show_default=True, metavar="N", help="Number of attempts of one run."
)
@click.option(
    "--timeout", type=DURATION, metavar="DURATION", help="Maximum time of a run. Default: that of its worker, or 10 s."
)
@options.store
@options.pass_timeline_session
def set_(session: Session, /, **given: Any) -> None:
    answer = operate(session, SET_JOB, given_of(given))
    print_answer(session, answer, lambda job: f"{job['jobid']}: {job['word']}, next {job['next'] or 'never'}")


@rich_click.command(help=UNSET_JOB.help, epilog="Example: supervisor unset crawl:A")
@click.argument("jobid", metavar="JOBID")
@options.store
@options.pass_timeline_session
def unset(session: Session, /, jobid: str) -> None:
    answer = operate(session, UNSET_JOB, {"jobid": jobid})
    print_answer(session, answer, lambda job: f"{job['jobid']}: {job['word']}")
