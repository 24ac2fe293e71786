"""`supervisor batches`: lists, shows, seals and cancels batches. A sealed batch takes no more tasks."""

from __future__ import annotations

import click

from holdfast.client.arguments import check_batch_id
from holdfast.client.manager import TaskManager
from holdfast.core.batches import BatchRecord, BatchState, TaskEnd
from holdfast.core.words import counted
from holdfastd.cli.common import Session, options, output, parameters, tables
from holdfastd.cli.common.store_session import LONG_RETRIES, Store, arguments_of, ask, manage, operate
from holdfastd.cli.common.task_id import CUT, IDS_LISTED, only_one, uncut
from holdfastd.documents.printed_times import moment, span
from holdfastd.documents.task_documents import batch_document
from holdfastd.operations.batches import CANCEL_BATCH, SEAL_BATCH, known_batch

COLUMNS = ("batch", "state", "tasks", "open", "completed", "failed", "rejected", "canceled", "gone", "age", "callback")
FIT = tables.TableFit(ids=("batch", "callback"), drop=("gone", "rejected", "canceled", "age", "callback", "completed"))
PAGE = 1000  # batches that one call reads to look for the beginning of an id
NO_PRODUCER = (
    "not all of its tasks were submitted; if its producer is gone, submit the tasks again, or seal the batch with "
    "`supervisor batches seal`"
)


@options.group(epilog="Example: supervisor batches list")
def batches() -> None:
    """List and show batches of tasks, seal and cancel them.

    BATCH is the id of a batch, or the beginning of one.
    """


@batches.command("list", epilog="Example: supervisor batches list --json")
@click.option("--cursor", default="", help="Continue after an earlier page: the cursor that it printed.")
@parameters.limit_option(10_000, "Maximum number of batches.")
@options.wide
@options.changing
def list_(session: Session, /, limit: int, cursor: str) -> None:
    """List batches, the latest first. For each batch it shows how many tasks are open, completed, failed, rejected and
    canceled."""
    page = manage(session, lambda manager: manager.batches(limit, cursor))
    if session.json:
        listed = [batch_document(each) for each in page.batches]
        output.document({"batches": listed, "unreadable": list(page.unreadable), "cursor": page.cursor})
        return
    tables.table(COLUMNS, [_cells(each) for each in page.batches], FIT, wide=session.wide)
    for batch_id in page.unreadable:
        output.note(f"batch {batch_id}: its record cannot be read, because another program has changed it")
    if page.cursor:
        output.note(f"there may be more: --cursor {page.cursor}")


@batches.command(epilog="Example: supervisor batches show import-7 --tasks failed")
@click.argument("batch")
@click.option(
    "--tasks",
    "end",
    type=click.Choice([str(end) for end in TaskEnd if end is not TaskEnd.RETRIED]),
    help="Also list the ids of the tasks that ended in this way, at most --limit.",
)
@parameters.limit_option(10_000, "Maximum number of tasks.")
@options.changing
def show(session: Session, /, batch: str, end: str | None, limit: int) -> None:
    """Show one batch: its counts, its callback, and the times when it was sealed (takes no more tasks) and when it
    ended."""

    batch_id = _whole(session, batch)

    async def look(manager: TaskManager) -> tuple[BatchRecord, list[str]]:
        found = list[str]()
        if end is not None:
            async for task in manager.batch(batch_id).tasks(end):
                found.append(task.task_id)
                if len(found) == limit:
                    break
        return await manager.batch(batch_id).record(), found

    record, task_ids = manage(session, look)
    if session.json:
        output.document(batch_document(record) | ({"tasks": task_ids} if end else {}))
        return
    tables.plain([row for row in _rows(record) if row[1] not in (None, "")])
    for task_id in task_ids:
        output.text(task_id)


@batches.command(help=SEAL_BATCH.help, epilog="Example: supervisor batches seal import-7")
@arguments_of(SEAL_BATCH)
@options.changing
def seal(session: Session, /, batch: str) -> None:
    sealed = operate(session, SEAL_BATCH, {"batch": _chosen(session, batch)})
    what, counts = "sealed" if sealed["sealed_now"] else "was sealed already", sealed["counts"]
    session.answer(sealed, f"{sealed['batch']} {what} with {counted(counts['total'], 'task')}, {counts['open']} open")


@batches.command(help=CANCEL_BATCH.help, epilog="Example: supervisor batches cancel import-7 --yes")
@arguments_of(CANCEL_BATCH)
@parameters.yes_option
@options.changing
def cancel(session: Session, /, batch: str, reason: str | None, yes: bool) -> None:
    batch_id = _chosen(session, batch)
    if not yes and (record := ask(session, lambda store: store.batch(batch_id))):
        question = f"Cancel batch {batch_id} with {counted(record.counts.open, 'open task')}?"
        parameters.confirm(question, "canceling a batch cannot be undone", yes=False)
    canceled = operate(session, CANCEL_BATCH, {"batch": batch_id, "reason": reason or ""}, LONG_RETRIES)
    is_canceled = canceled["state"] is BatchState.CANCELED
    what = f"canceled, with {counted(canceled['canceled_now'], 'task')}" if is_canceled else "had ended already"
    session.answer(canceled, f"{batch_id} {what}")


def _cells(record: BatchRecord) -> tuple[object, ...]:
    counts = record.counts
    tasks = f"{counts.total} of {record.expected}" if record.state is BatchState.OPEN else str(counts.total)
    ends = (counts.open, counts.completed, counts.failed, counts.rejected, counts.canceled, counts.gone or None)
    return (record.batch_id, str(record.state), tasks, *ends, span(record.now_ms - record.created_ms), record.then)


def _rows(record: BatchRecord) -> list[tuple[object, object]]:
    counts = record.counts
    by_end = [(end, getattr(counts, end)) for end in ("completed", "failed", "rejected", "canceled", "gone", "retried")]
    ended = ", ".join(f"{number} {end}" for end, number in by_end if number)
    is_open = record.state is BatchState.OPEN
    return [
        ("batch", record.batch_id),
        ("state", f"{record.state}: {NO_PRODUCER}" if is_open else str(record.state)),
        ("tasks", f"{counts.total} of {record.expected}" if is_open else counts.total),
        ("open", counts.open),
        ("ended", f"{counts.ended}{f' ({ended})' if ended else ''}"),
        ("callback", record.then),
        ("created", moment(record.created_ms)),
        ("sealed", record.sealed_ms and f"{moment(record.sealed_ms)} by {record.sealed_by}"),
        ("ended at", moment(record.ended_ms)),
        ("canceled", moment(record.canceled_ms)),
    ]


def _chosen(session: Session, word: str, /) -> str:
    """The id of the batch to change. `word` is the whole id, or a beginning of it that ends with an ellipsis:
    `import-7...`. So `import-7` never means `import-70`."""
    return _whole(session, word) if word.endswith(CUT) else word


def _whole(session: Session, word: str, /) -> str:
    """The id of the batch whose id is `word`, or of the only batch whose id begins with `word`. Raises CommandError if
    several ids begin with it, and UnknownBatchError if none does."""
    return ask(session, lambda store: _found(store, word))


async def _found(store: Store, word: str) -> str:
    beginning = uncut(word)
    if word == beginning and await store.batch(check_batch_id(word)) is not None:
        return word
    found, cursor = list[str](), ""
    while len(found) <= IDS_LISTED:
        page = await store.batches(PAGE, cursor, beginning)
        found += [each.batch_id for each in page.batches]
        if not (cursor := page.cursor):
            break
    return only_one("batch", word, found) or (await known_batch(store, beginning)).batch_id
