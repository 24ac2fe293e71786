"""`supervisor tasks cancel`, `pause`, `resume`, `retry`, `remove` and `clean`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from holdfast.client.manager import TaskManager
from holdfast.core.bulk_changes import BulkVerb
from holdfast.core.task_states import TERMINAL
from holdfast.errors import HoldfastError, UnknownTaskError
from holdfastd.cli.common import Session, options, output, parameters, store_session
from holdfastd.cli.common.store_session import Store, arguments_of, given_of, operate_each, operate_in, retries_of
from holdfastd.cli.common.task_id import TASK_ID, whole_ids_in
from holdfastd.cli.common.work_progress import WorkProgress
from holdfastd.cli.shown_values import retried_words
from holdfastd.cli.tasks import bulk
from holdfastd.cli.tasks.bulk import chosen_filter, of_tasks
from holdfastd.operations import tasks as acts
from holdfastd.operations.act import Act
from holdfastd.operations.error_statuses import exit_of

R = TypeVar("R")
Show = Callable[[Session, str, R | HoldfastError], None]  # prints the answer for a task, or why it was refused

TASK_IDS = click.argument("task_ids", nargs=-1, required=True, type=TASK_ID, metavar="TASK_ID...")
ENDED = click.Choice(sorted(map(str, TERMINAL)))


def command_on_tasks(
    act: Act[Any, R],
    name: str,
    show: Show[R],
    epilog: str,
    more: str,
    verb: BulkVerb | None = None,
    own: Mapping[str, options.Decorator] = store_session.NO_OWN,
) -> click.Command:
    """A command that changes the named tasks one by one. `more`: text for its help after that of the act. `verb`: with
    a filter, the command changes all matching tasks in one bulk change."""

    @(of_tasks if verb else TASK_IDS)
    @arguments_of(act, (act.subject,), own)
    @options.changing
    def carry_out(session: Session, /, task_ids: tuple[str, ...], **chosen: Any) -> int:
        given = given_of({field.name: chosen.get(field.name) for field in act.fields})
        if verb and (found := chosen_filter(task_ids, chosen)):
            return bulk.begin(session, verb, found, given.get("reason", ""))
        return change(session, act, task_ids, given, show)

    return options.command(name, help=f"{act.help}\n\n{more}", epilog=epilog)(carry_out)


def change(
    session: Session,
    act: Act[Any, R],
    words: Sequence[str],
    given: Mapping[str, object],
    show: Show[R],
) -> int:
    """Carry out the act on each of these tasks, and print the results; returns the exit status."""

    async def each(store: Store) -> dict[str, R | HoldfastError]:
        return await operate_each(store, session, act, await whole_ids_in(store, session, words), given)

    answers = store_session.converse(session, each)
    for task_id, answer in answers.items():
        show(session, task_id, answer)
    return exit_of(store_session.refusals(answers))


def _show_state(session: Session, task_id: str, answer: acts.TaskState | HoldfastError) -> None:
    match answer:
        case UnknownTaskError():  # the store keeps the order to cancel, for a task that is submitted later
            document = {"task_id": task_id, "state": "unknown", "why": str(answer)}
            session.answer_each(document, f"{task_id} unknown")
        case HoldfastError():
            _print_refusal(session, {"task_id": task_id, "state": "refused"}, answer)
        case _:
            session.answer_each(answer, f"{task_id} {answer['state']}")


def show_retry(session: Session, task_id: str, answer: acts.RetriedTask | HoldfastError) -> None:
    if isinstance(answer, HoldfastError):
        _print_refusal(session, {"task_id": task_id, "answer": "refused", "runs_as": None}, answer)
    else:
        session.answer_each(answer, retried_words(answer))


def _show_removal(session: Session, task_id: str, answer: acts.RemovedTask | HoldfastError) -> None:
    if isinstance(answer, HoldfastError):
        _print_refusal(session, {"task_id": task_id, "removed": False}, answer)
    else:
        session.answer_each(answer, f"{task_id} removed")


def _print_refusal(session: Session, document: Mapping[str, object], error: HoldfastError) -> None:
    if session.json:
        output.line({**document, "why": str(error)})
    else:
        output.note(str(error))


cancel = command_on_tasks(
    acts.CANCEL_TASK,
    "cancel",
    _show_state,
    "Examples: supervisor tasks cancel 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks cancel --lane mail --older 1d",
    "Name the tasks, or give a filter. A named task that does not exist yet is canceled if it is submitted within ten "
    "minutes. With a filter, the command first counts the tasks that it finds. It then changes them in steps, which "
    "`supervisor tasks bulk` lists.",
    BulkVerb.CANCEL,
)
pause = command_on_tasks(
    acts.PAUSE_TASK,
    "pause",
    _show_state,
    "Example: supervisor tasks pause 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d",
    "The checkpoint is kept. The task continues when it is resumed or gets a message.",
)
resume = command_on_tasks(
    acts.RESUME_TASK,
    "resume",
    _show_state,
    'Example: supervisor tasks resume b1 --text "on Friday"',
    "Several tasks get the same message.",
    own={"data": click.option("--data", type=parameters.JSON, help="JSON value, as the message or a part of it.")},
)
retry = command_on_tasks(
    acts.RETRY_TASK,
    "retry",
    show_retry,
    "Examples: supervisor tasks retry 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks retry --state failed --newer 1h",
    "The new task is TASK_ID.r1 (or .r2 …), with the same request; the old task stays as it is. A second retry of the "
    "old task adds no further task. Name the tasks, or give a filter. With a filter, the command first counts the "
    "tasks that it finds. It then retries them in steps, which `supervisor tasks bulk` lists.",
    BulkVerb.RETRY,
)
remove = command_on_tasks(
    acts.REMOVE_TASK,
    "remove",
    _show_removal,
    "Examples: supervisor tasks remove 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d; "
    "supervisor tasks remove --name billing.send_statement --text 'is not known'",
    "Name the tasks, or give a filter. With a filter, the command first counts the tasks that it finds. It then "
    "removes them in steps, which `supervisor tasks bulk` lists. `supervisor tasks clean` selects tasks by the time of "
    "their end.",
    BulkVerb.REMOVE,
)


# `supervisor tasks clean`: deletes ended tasks before the time of the setting `keep` is over.


_CLEANED = {
    "state": click.option(
        "--state", type=ENDED, multiple=True, help="Only tasks in this final state (repeatable). Default: all."
    ),
    "limit": click.option(
        "--limit",
        type=click.IntRange(1, 10_000),
        help="Remove at most so many tasks, those that ended last first.",
        metavar="N",
    ),
}


@options.command(
    help=acts.CLEAN_TASKS.help, epilog="Example: supervisor tasks clean --state completed --older 1d --yes"
)
@arguments_of(acts.CLEAN_TASKS, own=_CLEANED)
@parameters.yes_option
@options.changing
def clean(session: Session, /, yes: bool, **given: Any) -> None:
    parameters.confirm("Delete the tasks that have ended?", "deleting tasks cannot be undone", yes=yes)
    texts, limit = given_of(given), given["limit"]

    async def work(store: Store) -> acts.CleanedTasks:
        await retries_of(session.settings).call(store.ping)
        retries = store_session.LONG_RETRIES
        manager = store_session.manager_of(store, session.settings, retries)
        most = limit if {*texts} - {"state", "limit"} else await _ended(manager, given["state"], limit)
        with WorkProgress("task", "removed", most) as progress:
            return await operate_in(store, session, acts.CLEAN_TASKS, texts, retries, on_step=progress.show)

    answer = store_session.converse(session, work)
    session.answer(answer, f"{answer['removed']} removed")


async def _ended(manager: TaskManager, states: Sequence[str], limit: int | None) -> int:
    """The number of tasks in these final states (if none is given: in any final state), at most `limit`."""
    ended = await manager.count_tasks(*(states or TERMINAL))
    return ended if limit is None else min(ended, limit)
