"""`supervisor queue`: shows the waiting and unreadable entries, clears the queue, deletes it. `supervisor recover`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import click

from holdfast.core.lanes import UnreadableEntry
from holdfast.core.task_states import State
from holdfast.core.words import counted
from holdfast.core.worker_records import StrayCause
from holdfast.errors import HoldfastError
from holdfastd.cli.common import CommandError, Session, options, output, parameters, store_session, tables
from holdfastd.cli.common.store_session import Store, arguments_of, ask, converse, given_of, operate_in
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.documents import printed_times, task_documents
from holdfastd.documents.queue_documents import unreadable_document
from holdfastd.operations import unreadable as set_aside
from holdfastd.operations import whole_queue
from holdfastd.operations.act import Act
from holdfastd.operations.error_statuses import exit_of, status_of
from holdfastd.operations.lanes import shown_lane

# `supervisor queue unreadable`: entries that were set aside because they are not valid tasks.

COLUMNS = ("address", "at", "lane", "reason", "bytes", "entry")
FIT = tables.TableFit(texts=("entry", "reason"), drop=("bytes", "entry", "lane", "at"))
SHOWN = 100  # characters of an entry in a table
ALL = 1000  # unreadable entries that the store keeps at most
WHICH = "name the entries by ADDRESS, as `supervisor queue unreadable` lists them, or give --all"
addresses_argument = click.argument("addresses", nargs=-1, metavar="[ADDRESS...]")
all_option = click.option("--all", "all_of_them", is_flag=True, help="All entries that were set aside.")
unreadable_limit_option = parameters.limit_option(ALL, "Maximum number of entries to show.", 10)


@options.group(invoke_without_command=True, epilog="Example: supervisor queue unreadable --json")
@unreadable_limit_option
@options.wide
@options.changing
@click.pass_context
def unreadable(context: click.Context, _: Session, /, limit: int) -> None:
    """List entries that were set aside because they are not valid tasks, newest first; show, retry or remove them."""
    if context.invoked_subcommand is None:
        context.invoke(list_, limit=limit)


@unreadable.command("list", epilog="Example: supervisor queue unreadable list --limit 100")
@unreadable_limit_option
@options.listing
def list_(session: Session, /, limit: int) -> None:
    """List the entries that were set aside, newest first. `supervisor queue unreadable` alone does the same."""
    entries = ask(session, lambda store: store.unreadable(limit))
    tables.answer_lines(session, map(unreadable_document, entries), COLUMNS, map(_cells, entries), FIT)


@unreadable.command(epilog="Example: supervisor queue unreadable show 1767225600000-1a2b3c4d")
@click.argument("address")
@options.reading
def show(session: Session, /, address: str) -> None:
    """Show one entry in full, as far as it was kept (64 KiB)."""
    each = ask(session, lambda store: store.unreadable_at(address))
    if each is None:
        raise CommandError(f"{set_aside.missing(address)}; {WHICH}")
    fields = unreadable_document(each)
    if session.json:
        output.document(fields)
        return
    for name, value in fields.items():
        if name != "raw":
            output.text(f"{name:<8} {value}")
    output.text(fields["raw"], keep=output.LINE_END)


@unreadable.command(epilog="Example: supervisor queue unreadable retry 1767225600000-1a2b3c4d")
@addresses_argument
@all_option
@options.changing
def retry(session: Session, /, addresses: tuple[str, ...], all_of_them: bool) -> int:
    """Put entries back into their lanes, for workers that can now read them."""
    _check(addresses, all_of_them)
    done = converse(session, lambda store: _each(store, session, set_aside.RETRY_UNREADABLE, addresses))
    for address, answer in done.items():
        if isinstance(answer, HoldfastError):
            word = "gone" if status_of(answer) == HTTPStatus.NOT_FOUND else "cut"
            output.note(str(answer))
        else:
            word = answer["answer"]
        if session.json:
            output.line({"address": address, "answer": word})
        elif word == "back":
            output.text(f"{address} is back in its lane")
    return exit_of(store_session.refusals(done))


@unreadable.command(epilog="Example: supervisor queue unreadable remove --all --older 7d --yes")
@addresses_argument
@all_option
@arguments_of(set_aside.REMOVE_ALL_UNREADABLE)
@parameters.yes_option
@options.changing
def remove(session: Session, /, addresses: tuple[str, ...], all_of_them: bool, older: str | None, yes: bool) -> int:
    """Delete entries that were set aside because they are not valid tasks."""
    _check(addresses, all_of_them)
    entries = counted(len(addresses), "entry", "entries") if addresses else "all entries that were set aside"
    parameters.confirm(f"Delete {entries}?", "deleting entries cannot be undone", yes=yes)
    done = dict[str, set_aside.UnreadableAnswer | HoldfastError]()
    if all_of_them:
        purged = store_session.operate(
            session, set_aside.REMOVE_ALL_UNREADABLE, {} if older is None else {"older": older}
        )["purged"]
    else:
        done = converse(session, lambda store: _each(store, session, set_aside.REMOVE_UNREADABLE, addresses))
        purged = len(done) - len(store_session.refusals(done))
    return store_session.print_purged(session, purged, store_session.refusals(done))


def _check(addresses: Sequence[str], all_of_them: bool) -> None:
    if bool(addresses) == all_of_them:
        raise click.UsageError(f"ADDRESS and --all exclude each other: {WHICH}" if addresses else WHICH)


async def _each(
    store: Store, session: Session, act: Act[Any, set_aside.UnreadableAnswer], addresses: Sequence[str]
) -> dict[str, set_aside.UnreadableAnswer | HoldfastError]:
    """Carry out the act on each entry. Returns the answer for each address, or the error by which it was refused.
    Without addresses: all entries, the oldest first."""
    chosen = addresses
    if not chosen:
        found = await store_session.retries_of(session.settings).call(store.unreadable, ALL)
        chosen = [each.address for each in reversed(found)]
    return await store_session.operate_each(store, session, act, chosen)


def _cells(each: UnreadableEntry) -> tuple[object, ...]:
    entry = each.raw[: 4 * SHOWN].decode("utf-8", "backslashreplace")[:SHOWN]
    return (each.address, printed_times.moment(each.at_ms), each.lane, each.reason, each.size, entry)


@options.group(epilog="Example: supervisor queue length")
def queue() -> None:
    """Inspect, clear or delete the queue."""


@queue.command(epilog="Example: supervisor queue length --json")
@options.reading
def length(session: Session, /) -> None:
    """Print the number of waiting entries of each lane."""
    lanes = ask(session, lambda store: store.counts()).lanes
    tables.answer(session, {"length": sum(lanes.values()), "lanes": lanes}, ("lane", "entries"), lanes.items())


@queue.command(epilog="Example: supervisor queue peek --limit 3")
@click.option("--lane", help="Name of the lane. Default: the queue itself.", metavar="NAME")
@parameters.limit_option(10_000, "Maximum number of entries to show.", 10)
@options.reading
def peek(session: Session, /, lane: str | None, limit: int) -> None:
    """Show the next waiting entries of a lane without removing them."""

    async def look(store: Store) -> Sequence[bytes]:
        settings = session.settings
        name = settings.queue_name if lane is None else await shown_lane(store, settings, lane)
        return await store.peek_entries(name, limit)

    for entry in ask(session, look):
        session.answer_each(task_documents.decoded(entry), entry.decode("utf-8", "backslashreplace"))


@queue.command(help=whole_queue.CLEAR_QUEUE.help, epilog="Example: supervisor queue clear --lane high --yes")
@arguments_of(whole_queue.CLEAR_QUEUE)
@parameters.yes_option
@options.changing
def clear(session: Session, /, yes: bool, **given: Any) -> None:
    lane, delayed = given["lane"], given["delayed"]
    name = lane or session.settings.queue_name
    parameters.confirm(f"Cancel all tasks that wait in {name}?", "clearing a queue cannot be undone", yes=yes)

    async def work(store: Store) -> whole_queue.Cleared:
        manager = store_session.manager_of(store, session.settings, store_session.retries_of(session.settings))
        total = await manager.queue_length(lane)
        if delayed:  # of all lanes: the store does not count those of one lane
            total += await manager.count_tasks(State.DELAYED)
        with WorkProgress("task", "cleared", total, is_estimate=bool(delayed)) as progress:
            return await operate_in(store, session, whole_queue.CLEAR_QUEUE, given_of(given), on_step=progress.show)

    answer = converse(session, work)
    session.answer(answer, f"{answer['cleared']} cleared")


@queue.command(help=whole_queue.OBLITERATE_QUEUE.help, epilog="Example: supervisor queue obliterate --yes")
@arguments_of(whole_queue.OBLITERATE_QUEUE)
@parameters.yes_option
@options.changing
def obliterate(session: Session, /, yes: bool, **given: Any) -> None:
    name = session.settings.queue_name
    parameters.confirm(f"Delete all data of {name}?", "deleting a queue cannot be undone", yes=yes)

    async def work(store: Store) -> whole_queue.Deleted:
        total = (await store_session.retries_of(session.settings).call(store.key_count)).queue or None
        with WorkProgress("key", "deleted", total, is_estimate=True) as progress:
            act, retries = whole_queue.OBLITERATE_QUEUE, store_session.LONG_RETRIES
            return await operate_in(store, session, act, given_of(given), retries, on_step=progress.show)

    answer = converse(session, work)
    session.answer(answer, f"{name}: {counted(answer['deleted'], 'key')} deleted")


queue.add_command(unreadable)


# `supervisor recover`: puts tasks of lost workers back into the queue when no steward runs.

STRAYS_FIT = tables.TableFit(("task", "owner"), drop=("owner",))
WHY = {
    StrayCause.DEAD: "its worker is dead",
    StrayCause.UNKNOWN: "its worker is unknown",
    StrayCause.SILENT: "its worker has sent no heartbeat for too long",
    StrayCause.NOT_HELD: "its worker lives but does not run it",
}


@options.command(
    help=whole_queue.RECOVER_TASKS.help,
    epilog="Examples:\n\nsupervisor recover --dry-run\n\n"
    "supervisor recover --silent-for 5m --redis-url redis://db:6379/0",
)
@arguments_of(whole_queue.RECOVER_TASKS)
@options.wide
@options.changing
def recover(session: Session, /, **given: Any) -> None:
    async def work(store: Store) -> whole_queue.Recovered:
        total = (await store_session.retries_of(session.settings).call(store.key_count)).database or None
        with WorkProgress("key", "read", total, is_estimate=True) as progress:
            return await operate_in(store, session, whole_queue.RECOVER_TASKS, given_of(given), on_step=progress.show)

    strays, dry_run = converse(session, work)["tasks"], bool(given["dry_run"])
    if strays:
        documents = (asdict(stray) | {"put_back": not dry_run} for stray in strays)
        rows = ((stray.task_id, stray.owner, WHY[stray.why]) for stray in strays)
        tables.answer_lines(session, documents, ("task", "owner", "why"), rows, STRAYS_FIT)
    if not session.json:
        output.text(f"{counted(len(strays), 'task')} {'would be put back' if dry_run else 'put back'}")
