"""`supervisor recover`: puts tasks of lost workers back into the queue when no steward runs."""

from __future__ import annotations

from dataclasses import asdict

import click
import rich_click

from holdfast.core.words import counted
from holdfast.core.worker_records import Stray
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import TERMINAL_RETRIES, ask
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.common.work_progress import WorkProgress

PAGE = 500  # keys read at once
FIT = TableFit(("task", "owner"), drop=("owner",))
WHY = {
    "dead": "its worker is dead",
    "unknown": "its worker is unknown",
    "silent": "its worker has sent no heartbeat for too long",
    "not held": "its worker lives but does not run it",
}


@rich_click.command(
    epilog="Examples:\n\nsupervisor recover --dry-run\n\nsupervisor recover --silent-for 5m --redis-url redis://db:6379/0"
)
@click.option("--dry-run", is_flag=True, help="List the tasks without changing them.")
@click.option(
    "--silent-for",
    type=DURATION,
    metavar="DURATION",
    help="Time without a heartbeat after which a worker counts as lost  [default: lease plus its grace]",
)
@options.wide
@options.store
@options.pass_session
def recover(session: Session, /, dry_run: bool, silent_for: float | None) -> int:
    """Put tasks back into the queue that are marked as working but whose workers are dead, unknown or silent.

    Supervisors do this all the time. Use it for a queue without a running supervisor, or for tasks that an older system
    left behind. A worker that was only disconnected cancels these tasks when it is back.
    """
    settings = session.settings
    silence = settings.lease + settings.lease_grace if silent_for is None else silent_for
    strays = ask(session, lambda store: _all(store, settings, round(silence * 1000), put_back=not dry_run))
    if session.json:
        for stray in strays:
            output.line(asdict(stray) | {"put_back": not dry_run})
    else:
        _print(strays, dry_run=dry_run, wide=session.wide)
    return Exit.OK


async def _all(store: Store, settings: Settings, silence_ms: int, *, put_back: bool) -> list[Stray]:
    """Reads all keys page by page; a task that appears twice is listed once."""
    strays: dict[str, Stray] = {}
    cursor, read, runs, retries = "", 0, settings.max_crashes, TERMINAL_RETRIES
    total = (await retries.call(store.key_count)).database or None
    with WorkProgress("key", "read", total, is_estimate=True) as progress:
        while True:
            page = await retries.call(store.strays, cursor, PAGE, silence_ms, put_back=put_back, max_crashes=runs)
            strays |= {stray.task_id: stray for stray in page.found}
            read += PAGE  # about as many: the store says no number
            progress.show(read)
            if not (cursor := page.cursor):
                return list(strays.values())


def _print(strays: list[Stray], *, dry_run: bool, wide: bool) -> None:
    if strays:
        table(
            ("task", "owner", "why"), [(stray.task_id, stray.owner, WHY[stray.why]) for stray in strays], FIT, wide=wide
        )
    tasks = counted(len(strays), "task")
    output.text(f"{tasks} would be put back" if dry_run else f"{tasks} put back")
