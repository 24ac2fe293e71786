"""`supervisor queue`: shows the waiting and unreadable entries, clears the queue, deletes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import rich_click

from holdfast.core.lanes import UnreadableEntry
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfast.store import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.act_command import arguments_of, given_of, print_answer, print_purged, refusals
from holdfastd.cli.common.confirm import confirm
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.parameter_types import DURATION
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import (
    LONG_RETRIES,
    ask,
    converse,
    manager_of,
    operate,
    operate_each,
    operate_in,
    retries_of,
)
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.documents import printed_times, task_documents
from holdfastd.documents.queue_documents import unreadable_document
from holdfastd.operations.act import Act
from holdfastd.operations.errors import NotFoundError
from holdfastd.operations.lanes import shown_lane
from holdfastd.operations.unreadable import (
    REMOVE_ALL_UNREADABLE,
    REMOVE_UNREADABLE,
    RETRY_UNREADABLE,
    UnreadableAnswer,
    missing,
)
from holdfastd.operations.whole_queue import CLEAR_QUEUE, OBLITERATE_QUEUE, Cleared, Deleted

# `supervisor queue unreadable`: entries that were set aside because they are not valid tasks.

COLUMNS = ("address", "at", "lane", "reason", "bytes", "entry")
FIT = TableFit(texts=("entry", "reason"), drop=("bytes", "entry", "lane", "at"))
SHOWN = 100  # characters of an entry in a table
ALL = 1000  # entries that are kept at most
WHICH = "name the entries by ADDRESS, as `supervisor queue unreadable` lists them, or give --all"
addresses_argument = click.argument("addresses", nargs=-1, metavar="[ADDRESS...]")
all_option = click.option("--all", "all_of_them", is_flag=True, help="All entries.")

unreadable_limit_option = click.option(
    "--limit", type=click.IntRange(1, ALL), default=10, show_default=True, help="Maximum number of entries to show."
)


@rich_click.group(invoke_without_command=True, epilog="Example: supervisor queue unreadable --json")
@unreadable_limit_option
@options.wide
@options.store
@options.pass_session
@click.pass_context
def unreadable(context: click.Context, session: Session, /, limit: int) -> None:
    """List entries that were set aside because they are not valid tasks, newest first; show, retry or remove them."""
    if context.invoked_subcommand is None:
        _list(session, limit)


@unreadable.command("list", epilog="Example: supervisor queue unreadable list --limit 100")
@unreadable_limit_option
@options.wide
@options.store
@options.pass_reading_session
def list_(session: Session, /, limit: int) -> None:
    """List the entries, newest first, like the command without a verb."""
    _list(session, limit)


def _list(session: Session, limit: int, /) -> None:
    entries = ask(session, lambda store: store.unreadable(limit))
    if session.json:
        for each in entries:
            output.line(unreadable_document(each))
    else:
        table(COLUMNS, [_cells(each) for each in entries], FIT, wide=session.wide)


@unreadable.command(epilog="Example: supervisor queue unreadable show 1767225600000-1a2b3c4d")
@click.argument("address")
@options.store
@options.pass_reading_session
def show(session: Session, /, address: str) -> None:
    """Show one entry in full, as far as it was kept (64 KiB)."""
    each = ask(session, lambda store: store.unreadable_at(address))
    if each is None:
        raise CommandError(f"{missing(address)}; {WHICH}")
    if session.json:
        output.document(unreadable_document(each))
        return
    fields = unreadable_document(each)
    for name, value in fields.items():
        if name != "raw":
            output.text(f"{name:<8} {value}")
    output.text(fields["raw"], keep=output.LINE_END)


@unreadable.command(epilog="Example: supervisor queue unreadable retry 1767225600000-1a2b3c4d")
@addresses_argument
@all_option
@options.store
@options.pass_session
def retry(session: Session, /, addresses: tuple[str, ...], all_of_them: bool) -> int:
    """Put entries back into their lanes, for workers that can now read them."""
    _check(addresses, all_of_them)
    done = converse(session, lambda store: _each(store, session, RETRY_UNREADABLE, addresses))
    for address, answer in done.items():
        if isinstance(answer, HoldfastError):
            word = "gone" if isinstance(answer, NotFoundError) else "cut"
            output.note(str(answer))
        else:
            word = answer["answer"]
        if session.json:
            output.line({"address": address, "answer": word})
        elif word == "back":
            output.text(f"{address} is back in its lane")
    return Exit.FAILED if refusals(done) else Exit.OK


@unreadable.command(epilog="Example: supervisor queue unreadable remove --all --older 7d --yes")
@addresses_argument
@all_option
@click.option("--older", type=DURATION, help="With --all: only entries set aside longer ago.", metavar="DURATION")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@options.store
@options.pass_session
def remove(session: Session, /, addresses: tuple[str, ...], all_of_them: bool, older: float | None, yes: bool) -> int:
    """Delete entries that were set aside."""
    _check(addresses, all_of_them)
    entries = counted(len(addresses), "entry", "entries") if addresses else "all entries that were set aside"
    confirm(f"Delete {entries}?", "deleting entries cannot be undone", yes=yes)
    done = dict[str, UnreadableAnswer | HoldfastError]()
    if all_of_them:
        purged = operate(session, REMOVE_ALL_UNREADABLE, {} if older is None else {"older": older})["purged"]
    else:
        done = converse(session, lambda store: _each(store, session, REMOVE_UNREADABLE, addresses))
        purged = len(done) - len(refusals(done))
    return print_purged(session, purged, refusals(done))


def _check(addresses: Sequence[str], all_of_them: bool) -> None:
    if bool(addresses) == all_of_them:
        raise click.UsageError(f"ADDRESS and --all exclude each other: {WHICH}" if addresses else WHICH)


async def _each(
    store: Store, session: Session, act: Act[Any, UnreadableAnswer], addresses: Sequence[str]
) -> dict[str, UnreadableAnswer | HoldfastError]:
    """The answer for each entry, or why it was refused. No address: all, the oldest first, in the order in which they
    came."""
    chosen = addresses
    if not chosen:
        found = await retries_of(session.settings).call(store.unreadable, ALL)
        chosen = [each.address for each in reversed(found)]
    return await operate_each(store, session, act, chosen)


def _cells(each: UnreadableEntry) -> tuple[object, ...]:
    entry = each.raw[: 4 * SHOWN].decode("utf-8", "backslashreplace")[:SHOWN]
    return (each.address, printed_times.moment(each.at_ms), each.lane, each.reason, each.size, entry)


lane_option = click.option("--lane", help="Name of the lane. Default: the queue itself.", metavar="NAME")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
limit_option = click.option(
    "--limit", type=click.IntRange(1, 10_000), default=10, show_default=True, help="Maximum number of entries to show."
)


@rich_click.group(epilog="Example: supervisor queue length")
def queue() -> None:
    """Inspect, clear or delete the queue."""


@queue.command(epilog="Example: supervisor queue length --json")
@options.store
@options.pass_reading_session
def length(session: Session, /) -> None:
    """Print the number of waiting entries of each lane."""
    lanes = ask(session, lambda store: store.counts()).lanes
    if session.json:
        output.document({"length": sum(lanes.values()), "lanes": lanes})
    else:
        table(("lane", "entries"), list(lanes.items()))


@queue.command(epilog="Example: supervisor queue peek --limit 3")
@lane_option
@limit_option
@options.store
@options.pass_reading_session
def peek(session: Session, /, lane: str | None, limit: int) -> None:
    """Show the next entries without removing them."""

    async def look(store: Store) -> Sequence[bytes]:
        settings = session.settings
        name = settings.queue_name if lane is None else await shown_lane(store, settings, lane)
        return await store.peek_entries(name, limit)

    for entry in ask(session, look):
        if session.json:
            output.line(task_documents.decoded(entry))
        else:
            output.text(entry.decode("utf-8", "backslashreplace"))


@queue.command(help=CLEAR_QUEUE.help, epilog="Example: supervisor queue clear --lane high --yes")
@arguments_of(CLEAR_QUEUE)
@yes_option
@options.store
@options.pass_session
def clear(session: Session, /, yes: bool, **given: Any) -> None:
    lane, delayed = given["lane"], given["delayed"]
    name = lane or session.settings.queue_name
    confirm(f"Cancel all tasks that wait in {name}?", "clearing a queue cannot be undone", yes=yes)

    async def work(store: Store) -> Cleared:
        manager = manager_of(store, session.settings, retries_of(session.settings))
        total = await manager.queue_length(lane)
        if delayed:  # in any lane: nobody counts those of one
            total += await manager.count_tasks(State.DELAYED)
        with WorkProgress("task", "cleared", total, is_estimate=bool(delayed)) as progress:
            return await operate_in(store, session, CLEAR_QUEUE, given_of(given), on_step=progress.show)

    print_answer(session, converse(session, work), lambda answer: f"{answer['cleared']} cleared")


@queue.command(help=OBLITERATE_QUEUE.help, epilog="Example: supervisor queue obliterate --yes")
@arguments_of(OBLITERATE_QUEUE)
@yes_option
@options.store
@options.pass_session
def obliterate(session: Session, /, yes: bool, **given: Any) -> None:
    name = session.settings.queue_name
    confirm(f"Delete all data of {name}?", "deleting a queue cannot be undone", yes=yes)

    async def work(store: Store) -> Deleted:
        total = (await retries_of(session.settings).call(store.key_count)).queue or None
        with WorkProgress("key", "deleted", total, is_estimate=True) as progress:
            return await operate_in(
                store, session, OBLITERATE_QUEUE, given_of(given), LONG_RETRIES, on_step=progress.show
            )

    answer = converse(session, work)
    print_answer(session, answer, lambda answer: f"{name}: {counted(answer['deleted'], 'key')} deleted")


queue.add_command(unreadable)
