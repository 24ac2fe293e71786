"""`supervisor schedules`: the group of its commands, and the list of all schedules."""

from __future__ import annotations

import click
import rich_click

from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import manage
from holdfastd.cli.common.tables import table
from holdfastd.cli.schedules import apply, fires, schedule, schedule_views
from holdfastd.cli.schedules.schedule_options import limit_option
from holdfastd.documents.schedule_documents import schedule_document


@rich_click.group(
    invoke_without_command=True,
    epilog="Examples:\n\nsupervisor schedules set nightly --cron '0 2 * * *' --name billing.close_day\n\n"
    "supervisor schedules --csv > jobs.csv",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print JOBID,SCHEDULE for each schedule that `supervisor set` can set."
)
@options.store
@options.pass_timeline_session
@click.pass_context
def schedules(context: click.Context, session: Session, /, as_csv: bool) -> None:
    """Set, list, pause, run and remove schedules. Without a command it lists them."""
    if context.invoked_subcommand is not None:
        if as_csv:
            raise click.UsageError("--csv prints all schedules and cannot be combined with a command")
    elif as_csv:
        from holdfastd.cli.views.job_csv import print_schedules  # rarely needed

        print_schedules(session)
    else:
        context.invoke(list_)


@schedules.command("list", epilog="Example: supervisor schedules list --json")
@click.option("--cursor", default="", help="Continue after an earlier page: the cursor that it printed.")
@limit_option
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /, limit: int, cursor: str) -> None:
    """List schedules in the order of their next fires."""
    page = manage(session, lambda manager: manager.schedules.list(limit, cursor))
    if session.json:
        unreadable = {each.schedule_id: each.why for each in page.spoilt}
        listed = [schedule_document(each) for each in page.schedules]
        output.document({"schedules": listed, "unreadable": unreadable, "cursor": page.cursor})
        return
    table(
        schedule_views.COLUMNS,
        [schedule_views.cells(each) for each in page.schedules],
        schedule_views.FIT,
        wide=session.wide,
    )
    for each in page.spoilt:
        output.note(f"schedule {each.schedule_id}: {each.why}; remove it and set it again")
    if page.cursor:
        output.note(f"there may be more: --cursor {page.cursor}")


for command in (
    *(schedule.set_, schedule.remove, schedule.show, schedule.pause, schedule.resume),
    *(fires.next_, fires.history, fires.run),
    *(apply.diff, apply.apply),
):
    schedules.add_command(command)
