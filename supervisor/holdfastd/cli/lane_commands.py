"""`supervisor lanes`: shows, pauses, resumes and limits the lanes of a queue, on all hosts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import click
import rich_click

from holdfast.core.lanes import Lanes, LaneState
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.words import duration
from holdfast.store import Store
from holdfast_config import Settings
from holdfastd.cli import shown_values
from holdfastd.cli.common import options, output
from holdfastd.cli.common.act_command import command_of, given_of, print_answer
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask, operate
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.documents import queue_documents
from holdfastd.documents.queue_documents import lane_document, quiet_documents, rate_words
from holdfastd.operations.lanes import (
    LIMIT_HANDLER,
    LIMIT_LANE,
    PAUSE_LANE,
    RESET_HANDLER,
    RESET_LANE,
    RESUME_LANE,
    ChangedSubject,
    shown_lane,
)

COLUMNS = ("lane", "waiting", "running", "oldest", "workers", "weight", "timeout", "limit", "per key", "rate", "state")
FIT = TableFit(texts=("state",), drop=("weight", "timeout", "per key", "workers", "oldest", "limit", "rate"))


def _words(answer: ChangedSubject) -> str:
    return f"{answer['subject']} {answer['answer']}"


@rich_click.group(epilog="Example: supervisor lanes list")
def lanes() -> None:
    """List, show, pause and resume lanes, and set their limits.

    A change applies to all hosts until it is changed again.
    """


@lanes.command("list", epilog="Example: supervisor lanes list --json")
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /) -> None:
    """List lanes: waiting and running tasks, workers, weight, timeout, limits, and why a lane does not move."""
    snapshot, quiet = ask(session, partial(_look, session.settings.lane_names))
    if session.json:
        handlers = {name: rate_words(order) for name, order in snapshot.handlers.items()}
        document = {"lanes": [lane_document(lane, snapshot) for lane in snapshot.lanes], "handlers": handlers}
        output.document(document | {"quiet": quiet_documents(quiet)})
        return
    for line in shown_values.lines(quiet, snapshot.now_ms):
        output.hint(line)
    table(COLUMNS, [_cells(lane, snapshot) for lane in snapshot.lanes], FIT, wide=session.wide)
    if bounded := [(name, rate_words(order)) for name, order in snapshot.handlers.items() if order.value]:
        output.text("")
        table(("handler", "rate"), bounded)


@lanes.command(epilog="Example: supervisor lanes show bindu:tasks:mail")
@click.argument("lane")
@options.store
@options.pass_reading_session
def show(session: Session, /, lane: str) -> None:
    """Show one lane in full."""
    snapshot, name = ask(session, partial(_look_at, session.settings, lane))
    found = next(each for each in snapshot.lanes if each.name == name)
    if session.json:
        output.document(lane_document(found, snapshot))
        return
    for column, value in zip(COLUMNS, _cells(found, snapshot), strict=True):
        if value not in (None, ""):
            output.text(f"{column:<8} {value}")


async def _look_at(settings: Settings, name: str, store: Store) -> tuple[Lanes, str]:
    lane = await shown_lane(store, settings, name)
    return await store.lanes([lane]), lane


async def _look(names: Sequence[str], store: Store) -> tuple[Lanes, tuple[Quiet, ...]]:
    return await store.lanes(names), await store.quiet_hosts()


lanes.add_command(
    command_of(
        PAUSE_LANE, "pause", _words, 'Example: supervisor lanes pause bindu:tasks:mail --reason "the provider is down"'
    )
)
lanes.add_command(command_of(RESUME_LANE, "resume", _words, "Example: supervisor lanes resume bindu:tasks:mail"))


@lanes.command("set", epilog="Example: supervisor lanes set bindu:tasks:mail --running 20 --rate 100/m")
@click.argument("lane", required=False)
@click.option("--running", metavar="N", help="Maximum of running tasks of the lane; `none`: no limit.")
@click.option("--per-key", metavar="N", help="Maximum of running tasks with the same concurrency key.")
@click.option("--rate", metavar="RATE", help="Maximum of starts per time: 10/s, 100/m, 20/10s; `none`: no limit.")
@click.option("--burst", metavar="N", help="With --rate: maximum of starts at once after idle time.")
@click.option("--handler", metavar="NAME", help="Limit the rate of this handler instead of a lane.")
@click.option("--reset", is_flag=True, help="Remove the limits set by this command; those of the settings apply again.")
@click.option("--create", is_flag=True, default=None, help="Accept a name that nobody knows yet.")
@options.store
@options.pass_session
def set_(session: Session, /, lane: str | None, handler: str | None, reset: bool, **given: Any) -> None:
    """Limit the running tasks of LANE, or the rate of a handler, over all hosts. Overrides the settings."""
    if (lane is None) == (handler is None):
        raise click.UsageError("give LANE or --handler")
    texts = given_of(given)
    if reset == bool(texts.keys() - {"create"}):
        raise click.UsageError("give either --reset or limits")
    of_handler, of_lane = (RESET_HANDLER, RESET_LANE) if reset else (LIMIT_HANDLER, LIMIT_LANE)
    act, subject = (of_lane, {"lane": lane}) if handler is None else (of_handler, {"handler": handler})
    print_answer(session, operate(session, act, {**subject, **texts}), _words)


def _cells(lane: LaneState, snapshot: Lanes) -> tuple[object, ...]:
    oldest = None if lane.oldest_ms is None else duration(max(0, snapshot.now_ms - lane.oldest_ms) / 1000)
    bounds = (lane.limit.value, lane.keys.value, rate_words(lane.rate))
    served = (lane.workers, queue_documents.weight_words(lane) or None, queue_documents.timeout_words(lane) or None)
    return (lane.name, lane.waiting, lane.running, oldest, *served, *bounds, queue_documents.state_words(lane))
