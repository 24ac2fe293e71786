"""`supervisor lanes`: shows, pauses, resumes and limits the lanes of a queue, on all hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import click
import rich_click

from holdfast.core.duration_words import duration
from holdfast.core.lanes import NO_BOUND, LaneBound, LaneLimit, Lanes, LaneState
from holdfast.core.quiet_hosts import Quiet
from holdfast.store.protocol import Store
from holdfast_config.lanes import list_name
from holdfastd.cli.common import options, output
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.cli.common.tables import table
from holdfastd.cli.lanes.limit_types import COUNT, RATE
from holdfastd.cli.views import host_views
from holdfastd.documents import lane_words
from holdfastd.documents.host_documents import quiet_documents
from holdfastd.documents.lane_documents import lane_document, rate_words

COLUMNS = ("lane", "waiting", "running", "oldest", "workers", "weight", "timeout", "limit", "per key", "rate", "state")
FIT = TableFit(texts=("state",), drop=("weight", "timeout", "per key", "workers", "oldest", "limit", "rate"))


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
    for line in host_views.lines(quiet, snapshot.now_ms):
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
    name = _known(lane)
    snapshot, _ = ask(session, partial(_look, [name]))
    found = next((each for each in snapshot.lanes if each.name == name), None)
    if found is None:
        raise CommandError(f"no lane {name} in {session.settings.queue_name}; `supervisor lanes list` has all")
    if session.json:
        output.document(lane_document(found, snapshot))
        return
    for column, value in zip(COLUMNS, _cells(found, snapshot), strict=True):
        if value not in (None, ""):
            output.text(f"{column:<8} {value}")


async def _look(names: Sequence[str], store: Store) -> tuple[Lanes, tuple[Quiet, ...]]:
    return await store.lanes(names), await store.quiet_hosts()


@lanes.command(epilog='Example: supervisor lanes pause bindu:tasks:mail --reason "the provider is down"')
@click.argument("lane")
@click.option("--reason", default="paused by an operator", show_default=True, help="Reason that other commands show.")
@options.store
@options.pass_session
def pause(session: Session, /, lane: str, reason: str) -> None:
    """Start no more tasks of LANE on any host. Running tasks finish, and new tasks are accepted and wait."""
    name = _known(lane)
    is_new = ask(session, lambda store: store.pause_lane(name, output.safe(reason)[:1000]))
    _show(session, name, "paused" if is_new else "was paused already")


@lanes.command(epilog="Example: supervisor lanes resume bindu:tasks:mail")
@click.argument("lane")
@options.store
@options.pass_session
def resume(session: Session, /, lane: str) -> None:
    """Start tasks of a paused LANE again."""
    name = _known(lane)
    was_paused = ask(session, lambda store: store.resume_lane(name))
    _show(session, name, "resumed" if was_paused else "was not paused")


@lanes.command("set", epilog="Example: supervisor lanes set bindu:tasks:mail --running 20 --rate 100/m")
@click.argument("lane", required=False)
@click.option("--running", type=COUNT, metavar="N", help="Maximum of running tasks of the lane; `none`: no limit.")
@click.option("--per-key", type=COUNT, metavar="N", help="Maximum of running tasks with the same concurrency key.")
@click.option(
    "--rate", type=RATE, metavar="RATE", help="Maximum of starts per time: 10/s, 100/m, 20/10s; `none`: no limit."
)
@click.option(
    "--burst", type=click.IntRange(1), metavar="N", help="With --rate: maximum of starts at once after idle time."
)
@click.option("--handler", metavar="NAME", help="Limit the rate of this handler instead of a lane.")
@click.option("--reset", is_flag=True, help="Remove the limits set by this command; those of the settings apply again.")
@options.store
@options.pass_session
def set_(session: Session, /, lane: str | None, handler: str | None, reset: bool, **bounds: str | int | None) -> None:
    """Limit the running tasks of LANE, or the rate of a handler, over all hosts. Overrides the settings."""
    if (lane is None) == (handler is None):
        raise click.UsageError("give LANE or --handler")
    burst, given = bounds.pop("burst"), {name: value for name, value in bounds.items() if value is not None}
    if burst is not None:
        if given.get("rate") in (None, NO_BOUND):
            raise click.UsageError("--burst needs a --rate other than none")
        count, period, *_ = str(given["rate"]).split("/")
        given["rate"] = f"{count}/{period}/{burst}"
    if reset == bool(given) or (handler is not None and set(given) - {"rate"}):
        raise click.UsageError("give either --reset or limits; for --handler only --rate is possible")
    rules = _handler_rules(handler, given) if handler is not None else _lane_rules(_known(lane or ""), given)
    changed = ask(session, lambda store: store.bound(rules))
    _show(session, handler or _known(lane or ""), "bounded" if changed else "had these bounds already")


def _handler_rules(name: str, given: Mapping[str, object]) -> Sequence[LaneLimit]:
    return [LaneLimit(LaneBound.NAME, name, str(given.get("rate", "")))]


def _lane_rules(lane: str, given: Mapping[str, object]) -> Sequence[LaneLimit]:
    """The limits that are given; without any, the removal of all."""
    names = {"running": LaneBound.LIMIT, "per_key": LaneBound.KEYS, "rate": LaneBound.RATE}
    return [
        LaneLimit(bound, lane, str(given.get(name, ""))) for name, bound in names.items() if name in given or not given
    ]


def _known(lane: str) -> str:
    try:
        return list_name(lane)
    except ValueError as error:
        raise click.UsageError(f"LANE {lane[:80]!r}: {error}") from None


def _show(session: Session, subject: str, what: str) -> None:
    if session.json:
        output.document({"subject": subject, "answer": what})
    else:
        output.text(f"{subject} {what}")


def _cells(lane: LaneState, snapshot: Lanes) -> tuple[object, ...]:
    oldest = None if lane.oldest_ms is None else duration(max(0, snapshot.now_ms - lane.oldest_ms) / 1000)
    bounds = (lane.limit.value, lane.keys.value, rate_words(lane.rate))
    served = (lane.workers, lane_words.weights(lane) or None, lane_words.timeouts(lane) or None)
    return (lane.name, lane.waiting, lane.running, oldest, *served, *bounds, lane_words.state(lane))
