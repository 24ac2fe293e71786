"""`supervisor lanes`: shows, pauses, resumes and limits the lanes of a queue, on all hosts."""

from __future__ import annotations

from typing import Any

import click

from holdfast.core.lanes import Lanes, LaneState
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.words import duration
from holdfastd.cli import shown_values
from holdfastd.cli.common import Session, options, output, tables
from holdfastd.cli.common.store_session import Store, ask, command_of, given_of, operate
from holdfastd.documents import queue_documents
from holdfastd.documents.queue_documents import lane_document, quiet_documents, rate_words
from holdfastd.operations import lanes as acts
from holdfastd.operations.act import Act

COLUMNS = ("lane", "waiting", "running", "oldest", "workers", "weight", "timeout", "limit", "per key", "rate", "state")
FIT = tables.TableFit(texts=("state",), drop=("weight", "timeout", "per key", "workers", "oldest", "limit", "rate"))


def _words(answer: acts.ChangedSubject) -> str:
    return f"{answer['subject']} {answer['answer']}"


@options.group(epilog="Example: supervisor lanes list")
def lanes() -> None:
    """List, show, pause and resume lanes, and set their limits.

    A change applies to all hosts until it is changed again.
    """


@lanes.command("list", epilog="Example: supervisor lanes list --json")
@options.listing
def list_(session: Session, /) -> None:
    """List lanes: waiting and running tasks, workers, weight, timeout, limits, and why a lane does not move."""

    async def look(store: Store) -> tuple[Lanes, tuple[Quiet, ...]]:
        return await store.lanes(session.settings.lane_names), await store.quiet_hosts()

    snapshot, quiet = ask(session, look)
    if session.json:
        handlers = {name: rate_words(order) for name, order in snapshot.handlers.items()}
        document = {"lanes": [lane_document(lane, snapshot) for lane in snapshot.lanes], "handlers": handlers}
        output.document(document | {"quiet": quiet_documents(quiet)})
        return
    for line in shown_values.lines(quiet, snapshot.now_ms):
        output.hint(line)
    tables.table(COLUMNS, [_cells(lane, snapshot) for lane in snapshot.lanes], FIT, wide=session.wide)
    if bounded := [(name, rate_words(order)) for name, order in snapshot.handlers.items() if order.value]:
        output.text("")
        tables.table(("handler", "rate"), bounded)


@lanes.command(epilog="Example: supervisor lanes show bindu:tasks:mail")
@click.argument("lane")
@options.reading
def show(session: Session, /, lane: str) -> None:
    """Show one lane in full."""

    async def look(store: Store) -> tuple[Lanes, str]:
        name = await acts.shown_lane(store, session.settings, lane)
        return await store.lanes([name]), name

    snapshot, name = ask(session, look)
    found = next(each for each in snapshot.lanes if each.name == name)
    if session.json:
        output.document(lane_document(found, snapshot))
        return
    for column, value in zip(COLUMNS, _cells(found, snapshot), strict=True):
        if value not in (None, ""):
            output.text(f"{column:<8} {value}")


PAUSED = 'Example: supervisor lanes pause bindu:tasks:mail --reason "the provider is down"'
lanes.add_command(command_of(acts.PAUSE_LANE, "pause", _words, PAUSED))
lanes.add_command(command_of(acts.RESUME_LANE, "resume", _words, "Example: supervisor lanes resume bindu:tasks:mail"))


@lanes.command("set", epilog="Example: supervisor lanes set bindu:tasks:mail --running 20 --rate 100/m")
@click.argument("lane", required=False)
@click.option("--running", metavar="N", help="Maximum number of running tasks of the lane; `none`: no limit.")
@click.option(
    "--per-key", metavar="N", help="Maximum number of running tasks of the lane that have the same concurrency key."
)
@click.option(
    "--rate", metavar="RATE", help="Maximum number of tasks that start per time: 10/s, 100/m, 20/10s; `none`: no limit."
)
@click.option(
    "--burst", metavar="N", help="With --rate: maximum number of tasks that start at once after an idle time."
)
@click.option("--handler", metavar="NAME", help="Limit the rate of this handler instead of a lane.")
@click.option(
    "--reset", is_flag=True, help="Remove the limits set by this command; the limits of the settings apply again."
)
@click.option(
    "--create", is_flag=True, default=None, help="Accept the name of a lane or handler that is not known yet."
)
@options.changing
def set_(session: Session, /, lane: str | None, handler: str | None, reset: bool, **given: Any) -> None:
    """Limit the running tasks and the rate of LANE, or the rate of a handler, over all hosts. Overrides the
    settings."""
    if (lane is None) == (handler is None):
        raise click.UsageError("give either LANE or --handler NAME")
    texts = given_of(given)
    if reset == bool(texts.keys() - {"create"}):
        raise click.UsageError("give either --reset, or limits such as --running or --rate")
    of_lane, of_handler = (acts.RESET_LANE, acts.RESET_HANDLER) if reset else (acts.LIMIT_LANE, acts.LIMIT_HANDLER)
    act: Act[Any, acts.ChangedSubject] = of_lane if handler is None else of_handler
    answer = operate(session, act, {act.subject: lane or handler, **texts})
    session.answer(answer, _words(answer))


def _cells(lane: LaneState, snapshot: Lanes) -> tuple[object, ...]:
    oldest = None if lane.oldest_ms is None else duration(max(0, snapshot.now_ms - lane.oldest_ms) / 1000)
    bounds = (lane.limit.value, lane.keys.value, rate_words(lane.rate))
    served = (lane.workers, queue_documents.weight_words(lane) or None, queue_documents.timeout_words(lane) or None)
    return (lane.name, lane.waiting, lane.running, oldest, *served, *bounds, queue_documents.state_words(lane))
