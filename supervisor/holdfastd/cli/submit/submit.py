"""`supervisor submit`: its options, and what is printed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, BinaryIO, cast

import click
import msgspec
import rich_click

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.plurals import counted
from holdfast.core.served import ServedState
from holdfast.core.submit_options import IfParentFails
from holdfast.core.tasks import Accepted, Receipt, TaskRecord
from holdfast.errors import HoldfastError
from holdfast.exits import Exit
from holdfastd.cli.common import options, output
from holdfastd.cli.common.exit_status import CommandError, single_error
from holdfastd.cli.common.parameter_types import DURATION, JSON, WHEN
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import LONG_RETRIES, AnnouncedRetries, manage
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.submit import task_sources
from holdfastd.cli.submit.printed_answers import PrintedAnswers
from holdfastd.cli.submit.progress_bar import ProgressBar
from holdfastd.cli.submit.submit_windows import SubmitListener, Tally, submit_all
from holdfastd.cli.views import task_views
from holdfastd.cli.views.start_obstacles import obstacle

EXCLUSIVE = (  # two options, and why not both
    ("key", "task_id", "the key makes the task id"),
    ("debounce", "key", "one replaces, the other keeps the first"),
    ("debounce", "unique", "one replaces, the other keeps the first"),
    ("delay", "at", "give one"),
)
DEPENDENT = (  # an option, another that it needs, and what that is
    ("if_parent_fails", "after", "the tasks that this one waits for"),
    ("debounce", "delay", "how long a submission waits for a later one that replaces it"),
    ("unique_for", "unique", "the key of which there is to be one task for so long"),
)

EXAMPLES = """Examples:

supervisor submit "hello world" --wait

supervisor submit --name billing.send_statement --data '{"region": "eu"}' --delay 5m

find /usr/share/doc -name copyright | supervisor submit --lines - --wait --json"""


@rich_click.command(epilog=EXAMPLES)
@click.argument("texts", nargs=-1, metavar="[TEXT]...")
@click.option("--data", type=JSON, help="A JSON value for the handler; with --name, its arguments as an object.")
@click.option("--name", help="The registered handler to call.")
@click.option("--lines", type=click.File("rb"), help="One task a line, from a file or - for standard input.")
@click.option("--jsonl", type=click.File("rb"), help="One JSON object a line: text, data, name, kwargs, task_id, …")
@click.option("--wait", is_flag=True, help="Wait for the results and print them; exit 1 if a task failed.")
@click.option("--delay", type=DURATION, help="Not before so many seconds, or 5m, 1h30m, 7d, from now.")
@click.option("--at", type=WHEN, help="Not before this time: 2030-01-31T12:00:00Z or Unix seconds.")
@click.option("--task-id", help="The task's id; the same id and content again is the same task.")
@click.option("--message-id", help="The message's id; a new one, to say the same to a task once more.")
@click.option("--lane", help="The lane to queue it in; else the public queue.")
@click.option("--max-attempts", type=int, metavar="N", help="Runs before a failing task is given up.")
@click.option("--timeout", type=DURATION, help="The longest one run may take.")
@click.option(
    "--after",
    multiple=True,
    type=TASK_ID,
    metavar="TASK_ID",
    help="Wait until this task has completed; may be repeated.",
)
@click.option(
    "--if-parent-fails",
    type=click.Choice([str(one) for one in IfParentFails]),
    help="If a task of --after does not complete: fail too (the default), or run all the same.",
)
@click.option("--expires", type=DURATION, help="Cancel it if no worker has taken it within this time.")
@click.option("--key", help="A key that makes the task's id: the same key again is the same task.")
@click.option("--webhook", metavar="URL", help="Told when the task ends, or asks for something.")
@click.option(
    "--debounce", metavar="KEY", help="With --delay: the latest submission with this key replaces the one that waits."
)
@click.option("--unique", metavar="KEY", help="While a task with this key has not ended, another is a duplicate of it.")
@click.option("--unique-for", type=DURATION, help="With --unique: for so long, whether it has ended or not.")
@click.option("--concurrency-key", help="Of tasks with this key one runs at a time.")
@options.setting("submit_timeout", "How long to go on asking a Redis that is away, 10s by default.", "DURATION")
@options.store
@options.pass_session
def submit(
    session: Session,
    /,
    texts: tuple[str, ...],
    lines: BinaryIO | None,
    jsonl: BinaryIO | None,
    wait: bool,
    **given: Any,
) -> int:
    """Submit tasks: one for each TEXT, or one a line of a file; print their ids, or with --wait their results."""
    _check_flags(given)
    template = _template(given | {"after": given["after"] or None})
    _check_sources(texts, template, lines, jsonl)
    stream = lines or jsonl
    tally, answers = Tally(), PrintedAnswers()

    async def work(manager: TaskManager) -> task_sources.BadLineError | None:
        limit = session.settings.max_message_bytes
        if stream is None:
            items = _from_arguments(texts, template)
        else:
            parser = task_sources.text_parser(template) if lines else task_sources.json_parser(template)
            items = task_sources.from_lines(stream.fileno(), parser, limit)
        with ProgressBar(tally, visible=wait) as progress:
            listener = _listener(session, progress, answers, wait=wait, quiet=stream is not None)
            try:
                return await submit_all(manager, items, listener, tally)
            except (HoldfastError, BaseExceptionGroup) as error:
                if upto := tally.upto():
                    single_error(error).add_note(upto)
                raise

    later = None if stream is None and not wait else LONG_RETRIES
    first = AnnouncedRetries.of(session.settings.redis.submit)
    return _finish(manage(session, work, later, first), tally, answers, stream)


async def _from_arguments(texts: Sequence[str], template: TaskSpec) -> AsyncIterator[list[task_sources.Item]]:
    specs = [msgspec.structs.replace(template, text=text) for text in texts] or [template]
    yield [task_sources.Item(0, spec) for spec in specs]


def _template(given: dict[str, Any]) -> TaskSpec:
    if given["name"] is None:
        return TaskSpec(**given)
    arguments = given.pop("data")
    if arguments is not None and not isinstance(arguments, dict):
        raise click.UsageError("--data with --name holds the handler's arguments: a JSON object is expected")
    return TaskSpec(**given, kwargs=cast("dict[str, object] | None", arguments))


def _check_sources(texts: Sequence[str], template: TaskSpec, lines: object, jsonl: object) -> None:
    given = [what for what, is_given in (("TEXT", texts), ("--lines", lines), ("--jsonl", jsonl)) if is_given]
    if len(given) > 1:
        raise click.UsageError(f"{' and '.join(given)} exclude each other")
    if not given and template.data is None and template.name is None:
        raise click.UsageError("nothing to submit: give TEXT, --data, --name, --lines or --jsonl")
    if template.task_id is not None and (len(texts) > 1 or lines or jsonl):
        raise click.UsageError("--task-id names one task, and more than one is submitted")
    if template.key is not None and (len(texts) > 1 or lines or jsonl):
        raise click.UsageError("--key names one task, and more than one is submitted")


def _check_flags(given: Mapping[str, Any]) -> None:
    """The library refuses the same of its arguments; here the flags are named."""
    for one, other, why in EXCLUSIVE:
        if given[one] is not None and given[other] is not None:
            raise click.UsageError(f"{_flag(one)} and {_flag(other)} exclude each other: {why}")
    for one, needed, why in DEPENDENT:
        if given[one] is not None and not given[needed]:
            raise click.UsageError(f"{_flag(one)} needs {_flag(needed)}: {why}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _warn(state: ServedState) -> None:
    if why_not := obstacle(state):
        output.note(f"warning: what was accepted waits: {why_not}")


def _listener(
    session: Session, /, progress: ProgressBar, answers: PrintedAnswers, *, wait: bool, quiet: bool
) -> SubmitListener:
    """On a terminal the ids of a stream are left out, and results are text; otherwise each is a line."""

    def accepted(receipts: Sequence[Receipt]) -> None:
        progress.show()
        with answers.writing():
            for receipt in () if wait or (quiet and session.for_people) else receipts:
                if session.json:
                    again = {"duplicate": True} if receipt.accepted is Accepted.DUPLICATE else {}
                    output.line({"task_id": receipt.task_id} | again)
                else:
                    output.text(receipt.task_id)

    def refused(error: HoldfastError) -> None:
        output.note(str(error))

    def settled(record: TaskRecord) -> None:
        progress.show()
        with answers.writing():
            if session.for_people:
                progress.tell(output.safe(task_views.told(record), keep=output.LINE_END))
            else:
                progress.tell(output.compact(task_views.outcome(record)))

    return SubmitListener(accepted, _warn, refused, settled if wait else None)


def _finish(
    bad: task_sources.BadLineError | None, tally: Tally, answers: PrintedAnswers, stream: BinaryIO | None
) -> int:
    if bad:
        upto = f", up to line {tally.line}" if tally.accepted else ""
        raise CommandError(f"{bad}; {counted(tally.accepted, 'task')} accepted{upto}")
    if stream is not None or answers.lost:
        output.note(f"{answers.lost and f'{answers.lost}; '}{counted(tally.accepted, 'task')} accepted")
    if tally.unfit:
        return Exit.CONFIG
    if tally.failed or tally.refused:
        return Exit.FAILED
    return answers.status
