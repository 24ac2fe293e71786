"""`supervisor stats`: what the rollups say of the last hours or days, beside the period before."""

from __future__ import annotations

import click
import rich_click

from holdfast.client.periods import Period, last_periods
from holdfast.core.rollup import MINUTE, PACKED_KEPT_MS
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.stats.printed import print_csv, print_text
from holdfastd.documents.period_report import Report


@rich_click.command(epilog="Examples: supervisor stats; supervisor stats --since 1d --handler mail.send --json")
@click.option("--handler", metavar="NAME", help="Only tasks of this handler; '' for those that name none.")
@click.option("--lane", metavar="LANE", help="Only tasks of this lane.")
@click.option(
    "--since",
    type=DURATION,
    default="1h",
    show_default=True,
    metavar="DURATION",
    help="Length of the period: 10m, 1h, 7d, at most 15d.",
)
@click.option("--csv", "is_csv", is_flag=True, help="Print CSV, a row for each handler.")
@options.wide
@options.store
@options.pass_reading_session
def stats(session: Session, /, handler: str | None, lane: str | None, since: float, is_csv: bool) -> None:
    """Show rates, failures, waiting times and run times of a period, of all hosts, beside those of the period before.

    `recovery` is the time from the loss of a worker until its tasks were put back. Figures are kept by the minute for
    eight hours, and by ten minutes for thirty days. Runs are counted exactly; of a worker that died the run times of
    its last second are missing.
    """
    if is_csv and session.json:
        raise click.UsageError("give --json or --csv")
    length_ms = round(since * 1000)
    if not MINUTE <= length_ms <= PACKED_KEPT_MS // 2:
        raise click.BadParameter(f"{since:g} s: from 1m to 15d", param_hint="--since")

    async def read(store: Store) -> tuple[Period, Period]:
        return await last_periods(store, await store.clock_ms(), length_ms, handler, lane)

    report = Report.of(*ask(session, read))
    if session.json:
        output.document(report.document())
    elif is_csv:
        print_csv(report)
    else:
        print_text(report, wide=session.wide)
