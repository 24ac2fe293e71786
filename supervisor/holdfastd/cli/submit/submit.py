"""`supervisor submit`: its options and its output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import click
import msgspec

from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, IfParentFails, Receipt
from holdfast.core.outcomes import read_result
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted
from holdfast.errors import HoldfastError, StoreError
from holdfast.exits import Exit
from holdfastd.cli.common import CommandError, Session, options, output, parameters
from holdfastd.cli.common.error_report import single_error
from holdfastd.cli.common.store_session import LONG_RETRIES, AnnouncedRetries, Store, asking, converse, manager_of
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.submit import task_sources
from holdfastd.cli.submit.submit_windows import ProgressBar, SubmitListener, Submitted, Tally, submit_all
from holdfastd.cli.submit.task_sources import LineIds, path_of
from holdfastd.documents import task_documents
from holdfastd.operations.act import Face
from holdfastd.operations.reading import description_of
from holdfastd.operations.submit_tasks import (
    SUBMIT_TASKS,
    UNCHECKED,
    HandlerCalls,
    Unchecked,
    name_submitted,
    unpublished,
)

MOST_NAMED = 4  # ids in the line about tasks that go on

# Prints the answers of `submit`, which must go on if standard output fails: its tasks are already accepted.


@dataclass
class PrintedAnswers:
    """Says whether the answers could be printed. `lost`: the reason why some answers were not printed; empty if all
    were. `status`: the exit status that follows."""

    lost: str = ""
    status: Exit = Exit.OK

    @contextmanager
    def writing(self) -> Generator[None]:
        """A context manager for printing answers. After the first write error nothing more is written."""
        try:
            yield
        except BrokenPipeError:
            self._lose("standard output was closed", Exit.OK)
        except output.OutputError as error:
            self._lose(str(error), Exit.OUTPUT)

    def _lose(self, why: str, status: Exit) -> None:
        self.lost, self.status = why, status
        output.silence()


EXCLUSIVE = (  # two options that exclude each other, and the reason
    ("key", "task_id", "the task id is made from the key"),
    ("debounce", "key", "--debounce replaces the task that waits, --key keeps it"),
    ("debounce", "unique", "--debounce replaces the task that waits, --unique keeps it"),
    ("delay", "at", "both set the earliest time"),
)
DEPENDENT = (  # an option, the option that it needs, and the meaning of the needed one
    ("if_parent_fails", "after", "the parent tasks"),
    ("debounce", "delay", "the time during which a later submission replaces this one"),
    ("unique_for", "unique", "the key that is unique for this time"),
    ("wait_timeout", "wait", "the command does not wait otherwise"),
)

EXAMPLES = """Examples:

supervisor submit "hello world" --wait

supervisor submit --name billing.send_statement --data '{"region": "eu"}' --delay 5m

find /usr/share/doc -name copyright | supervisor submit --lines - --wait --json"""


@options.command(epilog=EXAMPLES)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--data", type=parameters.JSON, help="JSON value for the handler; with --name, an object with its arguments."
)
@click.option("--name", help="Name of the registered handler to call.")
@click.option("--lines", type=click.File("rb"), help="Submit one task for each line of a file; - is standard input.")
@click.option(
    "--jsonl",
    type=click.File("rb"),
    help="Submit one task for each JSON object, one per line: text, data, name, kwargs, task_id, … Options of the "
    "command count for the keys that a line leaves out.",
)
@click.option("--again", is_flag=True, help="Submit the lines of a file once more, even if they were submitted before.")
@click.option("--unchecked", is_flag=True, help=description_of(Unchecked))
@click.option("--wait", is_flag=True, help="Wait for the results and print them. Exit status 1 if a task failed.")
@click.option(
    "--wait-timeout",
    type=parameters.DURATION,
    help="With --wait: end after this time, counted from the first accepted task. Tasks that have not ended go on. "
    "Exit status 75 if there are any.",
)
@click.option(
    "--delay", type=parameters.DURATION, help="Start after this delay at the earliest: seconds, or 5m, 1h30m, 7d."
)
@click.option(
    "--at", type=parameters.WHEN, help="Start at this time at the earliest: 2030-01-31T12:00:00Z or Unix seconds."
)
@click.option("--task-id", help="Id of the task. Submitting the same id and content again adds no second task.")
@click.option("--message-id", help="Id of the message. A new id sends the same content to a task again.")
@click.option("--lane", help="Lane of the task. Default: the queue itself.")
@click.option("--max-attempts", type=int, metavar="N", help="Maximum number of runs of a task that fails.")
@click.option("--timeout", type=parameters.DURATION, help="Maximum time of one run.")
@click.option(
    "--after",
    multiple=True,
    type=TASK_ID,
    metavar="TASK_ID",
    help="Start only after this task has completed (repeatable).",
)
@click.option(
    "--if-parent-fails",
    type=click.Choice([str(each) for each in IfParentFails]),
    help="If a task of --after does not complete: fail too (default), or run anyway.",
)
@click.option("--expires", type=parameters.DURATION, help="Cancel the task if no worker claims it within this time.")
@click.option(
    "--key",
    help="Derive the id of the task from this key: the same key again adds no second task. With --lines or --jsonl, "
    "the id of a line's task comes from the key, the number of the line and its content.",
)
@click.option("--webhook", metavar="URL", help="URL to notify when the task ends or asks for input.")
@click.option(
    "--debounce", metavar="KEY", help="With --delay: a later submission with this key replaces the one that waits."
)
@click.option(
    "--unique",
    metavar="KEY",
    help="Until this task has ended, another task with this key is a duplicate and is not added.",
)
@click.option(
    "--unique-for",
    type=parameters.DURATION,
    help="With --unique: the key is taken for this time instead, even after the task has ended.",
)
@click.option("--concurrency-key", help="Run only one task with this key at a time.")
@options.setting("submit_timeout", "Maximum time to retry while Redis is away. Default: 10s.", "DURATION")
@options.changing
def submit(
    session: Session,
    /,
    texts: tuple[str, ...],
    lines: BinaryIO | None,
    jsonl: BinaryIO | None,
    again: bool,
    unchecked: bool,
    wait: bool,
    wait_timeout: float | None,
    **given: Any,
) -> int:
    """Submit one task for each TEXT, or for each line of a file. Prints the ids, or with --wait the results.

    The id of a line's task is made from the path of the file, the number of the line and its content. So a second
    submit of the file adds no task twice. Lines of standard input have such ids only with --key.
    """
    _check_flags(given | {"wait": wait, "wait_timeout": wait_timeout})
    template = TaskSpec(**parameters.with_arguments(given | {"after": given["after"] or None}))
    _check_sources(texts, template, lines, jsonl)
    stream = lines or jsonl
    _check_again(again, template, stream)
    ids = None if stream is None or again else _line_ids(stream, template)
    template = template if stream is None else msgspec.structs.replace(template, key=None)
    tally, answers = Tally(), PrintedAnswers()

    later = None if stream is None and not wait else LONG_RETRIES
    first = AnnouncedRetries.of(session.settings.redis.submit)

    async def work(store: Store) -> task_sources.BadLineError | None:
        if later is not None:
            await first.call(store.ping_for_submits)
        limit = session.settings.max_message_bytes
        if stream is None:
            items = _from_arguments(texts, template)
        else:
            parser = task_sources.text_parser(template) if lines else task_sources.json_parser(template)
            items = task_sources.from_lines(stream.fileno(), parser, limit, ids)
        with ProgressBar(tally, wait=wait, is_stream=stream is not None) as progress:
            listener = _listener(session, progress, answers, wait=wait, quiet=stream is not None, seconds=wait_timeout)
            try:
                manager = manager_of(store, session.settings, later or first)
                calls = HandlerCalls(
                    store, session.settings.queue_name, later or first, unchecked, Face.COMMAND.switch(UNCHECKED)
                )
                return await _noted(
                    store, tally, calls, lambda told: submit_all(manager, calls, items, listener, tally, told)
                )
            except (HoldfastError, BaseExceptionGroup) as error:
                if upto := tally.upto():
                    single_error(error).add_note(upto)
                raise

    return _finish(converse(session, work), tally, answers, stream, ids)


async def _noted(
    store: Store,
    tally: Tally,
    calls: HandlerCalls,
    work: Callable[[Submitted], Awaitable[task_sources.BadLineError | None]],
) -> task_sources.BadLineError | None:
    """Run `work`, which submits tasks, and write one entry about these tasks to Activity: when all are submitted, or
    when `work` ends early."""
    async with asking(store, SUBMIT_TASKS.name) as asked:

        async def tell(error: task_sources.BadLineError | None = None) -> None:
            with suppress(StoreError):
                asked.hint = "" if all(calls.found.values()) else await unpublished(store, calls)
            name_submitted(asked, tally.first, tally.accepted, tally.refused, error)
            await asked.write()

        try:
            return await work(tell)
        finally:
            name_submitted(asked, tally.first, tally.accepted, tally.refused)


async def _from_arguments(texts: Sequence[str], template: TaskSpec) -> AsyncIterator[list[task_sources.Item]]:
    specs = [msgspec.structs.replace(template, text=text) for text in texts] or [template]
    yield [task_sources.Item(0, spec) for spec in specs]


def _check_sources(texts: Sequence[str], template: TaskSpec, lines: object, jsonl: object) -> None:
    given = [what for what, is_given in (("TEXT", texts), ("--lines", lines), ("--jsonl", jsonl)) if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other: give one of them")
    if not given and template.data is None and template.name is None:
        raise click.UsageError("nothing to submit: give TEXT, --data, --name, --lines or --jsonl")
    if template.task_id is not None and (len(texts) > 1 or lines or jsonl):
        raise click.UsageError("--task-id names one task, but several are submitted")
    if template.key is not None and len(texts) > 1:
        raise click.UsageError("--key names one task, but several are submitted")


def _check_again(again: bool, template: TaskSpec, stream: BinaryIO | None) -> None:
    if again and stream is None:
        raise click.UsageError("--again is for the lines of a file: give --lines or --jsonl")
    if again and template.key is not None:
        raise click.UsageError(
            "--again and --key exclude each other: --again makes new tasks of lines that were submitted before, --key "
            "prevents this"
        )


def _line_ids(stream: BinaryIO, template: TaskSpec) -> LineIds | None:
    """The LineIds that make the ids of the tasks of a file, or of any input with --key. None for a pipe without --key,
    because there equal lines may be different tasks."""
    source = f"key {template.key}" if template.key is not None else path_of(stream)
    return LineIds(source, template) if source else None


def _check_flags(given: Mapping[str, Any]) -> None:
    """Raise UsageError for wrong combinations of flags. The library would name its own arguments instead of the
    flags."""
    for each, other, why in EXCLUSIVE:
        if given[each] is not None and given[other] is not None:
            raise click.UsageError(f"{options.flag(each)} and {options.flag(other)} exclude each other: {why}")
    for each, needed, why in DEPENDENT:
        if given[each] is not None and not given[needed]:
            raise click.UsageError(f"{options.flag(each)} needs {options.flag(needed)}: {why}")


def _listener(
    session: Session,
    /,
    progress: ProgressBar,
    answers: PrintedAnswers,
    *,
    wait: bool,
    quiet: bool,
    seconds: float | None,
) -> SubmitListener:
    """The functions that print the ids and the results. Results are text on a terminal, else JSON. The ids of a
    stream's tasks are not printed on a terminal."""

    def accepted(receipts: Sequence[Receipt]) -> None:
        progress.show()
        with answers.writing():
            for receipt in () if wait or (quiet and session.for_people) else receipts:
                again = {"duplicate": True} if receipt.accepted is Accepted.DUPLICATE else {}
                session.answer_each({"task_id": receipt.task_id} | again, receipt.task_id)

    def settled(record: TaskRecord) -> None:
        progress.show()
        with answers.writing():
            if session.for_people:
                outcome = record.reason or output.readable(read_result(record.result).value)
                line = f"{record.task_id} {record.state}: {outcome}"
                progress.print(output.safe(line, keep=output.LINE_END))
            else:
                progress.print(output.compact(task_documents.outcome(record)))

    return SubmitListener(accepted, settled if wait else None, progress.show_progress, seconds)


def _finish(
    bad: task_sources.BadLineError | None,
    tally: Tally,
    answers: PrintedAnswers,
    stream: BinaryIO | None,
    ids: LineIds | None,
) -> int:
    if bad:
        upto = f", up to line {tally.line}" if tally.accepted else ""
        harmless = "; submitted again, they are not added twice" if tally.accepted and ids else ""
        raise CommandError(f"{bad}; {counted(tally.accepted, 'task')} accepted{upto}{harmless}")
    if stream is not None or answers.lost:
        known = f", {tally.known} of them submitted before and not added again" if tally.known else ""
        hint = " (--again adds them)" if tally.known and ids and stream and path_of(stream) else ""
        output.note(f"{answers.lost and f'{answers.lost}; '}{counted(tally.accepted, 'task')} accepted{known}{hint}")
    if tally.unfinished:
        output.note(_unfinished(tally.unfinished))
    if tally.unfit:
        return Exit.CONFIG
    if tally.failed or tally.refused:
        return Exit.FAILED
    if tally.unfinished:
        return Exit.CUT_OFF
    return answers.status


def _unfinished(ids: Sequence[str]) -> str:
    """The line about tasks that go on after the time of --wait-timeout."""
    others = f" (then {', '.join(ids[1:MOST_NAMED])})" if len(ids) > 1 else ""
    tasks = counted(len(ids), "task, which goes on", "tasks, which go on")
    return f"no result within --wait-timeout of {tasks}; to see more: supervisor tasks show {ids[0]}{others}"
