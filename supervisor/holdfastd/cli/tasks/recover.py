"""`supervisor recover`: puts tasks of lost workers back into the queue when no steward runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click
import rich_click

from holdfast.core.words import counted
from holdfast.core.worker_records import Stray
from holdfast.store import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.act_command import arguments_of, given_of
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import converse, operate_in, retries_of
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.operations.whole_queue import RECOVER_TASKS, Recovered

FIT = TableFit(("task", "owner"), drop=("owner",))
SILENT_FOR = click.option(
    "--silent-for",
    type=DURATION,
    metavar="DURATION",
    help="Time without a heartbeat after which a worker counts as lost  [default: lease plus its grace]",
)
WHY = {
    "dead": "its worker is dead",
    "unknown": "its worker is unknown",
    "silent": "its worker has sent no heartbeat for too long",
    "not held": "its worker lives but does not run it",
}


@rich_click.command(
    help=RECOVER_TASKS.help,
    epilog="Examples:\n\nsupervisor recover --dry-run\n\n"
    "supervisor recover --silent-for 5m --redis-url redis://db:6379/0",
)
@arguments_of(RECOVER_TASKS, own={"silent_for": SILENT_FOR})
@options.wide
@options.store
@options.pass_session
def recover(session: Session, /, **given: Any) -> None:
    async def work(store: Store) -> Recovered:
        total = (await retries_of(session.settings).call(store.key_count)).database or None
        with WorkProgress("key", "read", total, is_estimate=True) as progress:
            return await operate_in(store, session, RECOVER_TASKS, given_of(given), on_step=progress.show)

    strays, dry_run = converse(session, work)["tasks"], bool(given["dry_run"])
    if session.json:
        for stray in strays:
            output.line(asdict(stray) | {"put_back": not dry_run})
    else:
        _print(strays, dry_run=dry_run, wide=session.wide)


def _print(strays: list[Stray], *, dry_run: bool, wide: bool) -> None:
    if strays:
        table(
            ("task", "owner", "why"), [(stray.task_id, stray.owner, WHY[stray.why]) for stray in strays], FIT, wide=wide
        )
    tasks = counted(len(strays), "task")
    output.text(f"{tasks} would be put back" if dry_run else f"{tasks} put back")
