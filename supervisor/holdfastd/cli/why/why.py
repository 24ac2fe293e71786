"""`supervisor why`: the history of a task, its present state, and what will happen next."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from functools import partial
from heapq import merge
from typing import Any

import click
import rich_click

from holdfast.client.arguments import check_id
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.served import ServedLimits
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, WorkerRecord
from holdfast.core.trail import KEPT, TrailStep, read_trail
from holdfast.errors import UnknownTaskError
from holdfast.store.protocol import Store
from holdfast.store.recorded_steps import recorded_steps
from holdfast_config import Settings
from holdfastd.cli.common import options, output
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.common.tables import aligned
from holdfastd.cli.common.task_id import TASK_ID
from holdfastd.cli.common.whole_ids import whole_id
from holdfastd.cli.views import host_views
from holdfastd.cli.views.times import moment, span
from holdfastd.cli.why import history, task_spans
from holdfastd.cli.why.next_commands import commands
from holdfastd.cli.why.outlook import TaskSnapshot, outlook
from holdfastd.cli.why.task_times import TaskTimes, task_times, words
from holdfastd.control.async_client import status_or_none
from holdfastd.control.socket_protocol import SupervisorStatus
from holdfastd.core.duration_words import duration

PARENTS = 3  # shown for a waiting task
STATUS_TIMEOUT = 1.0  # seconds for the supervisor to answer; its part is not essential

Row = tuple[int, str, str, str]  # time, time since the line before, sentence, name of the event


@rich_click.command(epilog="Example: supervisor why 6f1c2f0e-8a54-4c2c-9d0e-0d1f3a5b7c9d")
@click.argument("task_id", type=TASK_ID)
@options.store
@options.pass_session
def why(session: Session, /, task_id: str) -> None:
    """Show the history of a task, how long it waited and ran, its present state, what comes next, what you can do.

    Times are in UTC, each with the time since the line before. The number of attempts, and the time that an ended task
    is kept, are those of the running workers; if none runs, those of the settings of this command.
    """
    chosen = whole_id(session, task_id)
    snapshot, known = ask(session, partial(_story, session, check_id(chosen)))
    if session.json:
        output.document(_document(session, snapshot, known))
    else:
        for line in _lines(session, snapshot, known):
            output.text(line)


async def lines(session: Session, task_id: str, store: Store, /) -> list[str]:
    """The history of a task, as the command prints it. Raises UnknownTaskError."""
    return _lines(session, *await _story(session, task_id, store))


async def _story(session: Session, task_id: str, store: Store, /) -> tuple[TaskSnapshot, history.TaskHistory]:
    snapshot, workers = await _gather(session, task_id, store)
    here = await status_or_none(session.runtime_dir, STATUS_TIMEOUT)
    snapshot = replace(snapshot, held_back=here.quarantine.held_back if here else "")
    return snapshot, history.TaskHistory(workers, _deaths(here), history.events_of(snapshot.steps))


async def _gather(session: Session, task_id: str, store: Store, /) -> tuple[TaskSnapshot, dict[str, WorkerRecord]]:
    task = await store.get(task_id)
    if task is None:
        raise UnknownTaskError(_unknown(session, task_id))
    steps = tuple(merge(read_trail(task.trail), await _recorded_steps(store, task_id), key=lambda step: step.at_ms))
    names = {step.incarnation for step in steps if step.incarnation} | ({task.owner} - {""})
    workers = await store.incarnations(names)
    [service] = await store.service([(task.lane, task.name)])
    limits = service.limits or _limits(session.settings)
    snapshot = TaskSnapshot(
        task=task,
        steps=steps,
        now_ms=await store.clock_ms(),
        keep_ms=round(limits.keep * 1000),
        max_attempts=limits.max_attempts,
        are_registered=service.limits is not None,
        place=await store.place(task_id) if task.state is State.SUBMITTED else None,
        owner=workers.get(task.owner),
        held_up=_held_up(await store.quiet_hosts(), {each.host for each in await store.workers()}),
        service=service if task.state is State.SUBMITTED else None,
        unknown_ms=round(limits.unknown_handler_timeout * 1000),
        parents=await _parents(store, task.waits_for[:PARENTS]),
    )
    return snapshot, workers


async def _recorded_steps(store: Store, task_id: str, /) -> list[TrailStep]:
    """The results that its handler has recorded, as lines of the history."""
    steps = [
        TrailStep(step.at_ms, "step", number=step.place + 1, other=step.name)
        for step in await recorded_steps(store, task_id)
    ]
    return sorted(steps, key=lambda step: step.at_ms)


def _limits(settings: Settings) -> ServedLimits:
    """The limits by the settings of this command."""
    return ServedLimits(settings.max_attempts, settings.unknown_handler_timeout, settings.keep)


def _held_up(quiet: Sequence[Quiet], hosts: Collection[str]) -> tuple[str, ...]:
    """The orders because of which no host claims: those for all hosts, or one for each host that has workers."""
    orders = [each for each in quiet if each.is_all]
    if not orders and hosts and {each.host for each in quiet}.issuperset(hosts):
        orders = [each for each in quiet if each.host in hosts]
    return tuple(f"{host_views.who(each)} ({each.reason}): {host_views.remedy(each)}" for each in orders)


async def _parents(store: Store, task_ids: Sequence[str], /) -> tuple[TaskRecord, ...]:
    parents = [await store.get(task_id, payloads=False) for task_id in task_ids]
    return tuple(each for each in parents if each)


def _deaths(here: SupervisorStatus | None) -> dict[str, int]:
    """The times of deaths of workers, by the supervisor of this host."""
    return {each.incarnation: round(each.at * 1000) for each in here.deaths.recent} if here else {}


def _unknown(session: Session, task_id: str) -> str:
    settings = session.settings
    kept = f"a task that has ended is kept for {duration(settings.keep)}"
    return f"no task {task_id} in {settings.queue_name}: {kept}, and a pushed one is known once a worker has claimed it"


def _rows(snapshot: TaskSnapshot, known: history.TaskHistory) -> list[Row]:
    task = snapshot.task
    rows: list[Row] = [(task.created_ms, "", history.beginning(task), "accepted")]
    before = task.created_ms
    for step in snapshot.steps:
        rows.append((step.at_ms, f"+{span(step.at_ms - before)}", history.words(step, known), step.event))
        before = step.at_ms
    if not _is_complete(task):
        rows.insert(
            1, (task.created_ms, "", f"steps before this one are not kept: only the last {KEPT} are", "forgotten")
        )
    return rows


def _is_complete(task: TaskRecord) -> bool:
    return len(task.trail) < KEPT


def _lines(session: Session, snapshot: TaskSnapshot, known: history.TaskHistory, /) -> list[str]:
    return [
        f"task {snapshot.task.task_id}{f' ({snapshot.task.name})' if snapshot.task.name else ''}",
        *aligned([(moment(at), since, what) for at, since, what, _ in _rows(snapshot, known)], right={1}),
        f"times: {words(_times(snapshot))}",
        *task_spans.words(_spans(session, snapshot)),
        f"now: {outlook(snapshot)}",
        f"you can: {'; '.join(commands(snapshot.task))}",
    ]


def _spans(session: Session, snapshot: TaskSnapshot, /) -> list[task_spans.TaskSpan]:
    """Those of the settings of this command: where it has neither collector nor link, nobody looks for spans."""
    settings = session.settings
    is_on = settings.otlp_endpoint is not None or settings.trace_url is not None
    tracing = task_spans.Tracing(is_on, settings.trace_mode, settings.trace_url)
    return task_spans.task_spans(snapshot.task, snapshot.steps, tracing)


def _times(snapshot: TaskSnapshot) -> TaskTimes:
    return task_times(snapshot.task.state, snapshot.task.created_ms, snapshot.steps, snapshot.now_ms)


def _document(session: Session, snapshot: TaskSnapshot, known: history.TaskHistory, /) -> dict[str, Any]:
    task = snapshot.task
    steps: tuple[TrailStep | None, ...] = (None, *snapshot.steps)
    shown = [row for row in _rows(snapshot, known) if row[3] != "forgotten"]
    return {
        "task_id": task.task_id,
        "state": str(task.state),
        "now": outlook(snapshot),
        "commands": list(commands(task)),
        "times": asdict(_times(snapshot)),
        "spans": [asdict(each) for each in _spans(session, snapshot)],
        "complete": _is_complete(task),
        "place": asdict(snapshot.place) if snapshot.place else None,
        "service": asdict(snapshot.service) if snapshot.service else None,
        "due": moment(task.due_ms),
        "waits_for": list(task.waits_for),
        "expires": moment(task.expires_ms),
        "retry_of": task.retry_of,
        "retried_as": task.retried_as,
        "timeline": [_entry(row, step, known) for row, step in zip(shown, steps, strict=True)],
    }


def _entry(row: Row, step: TrailStep | None, known: history.TaskHistory) -> dict[str, Any]:
    at_ms, _, what, event = row
    worker = known.workers.get(step.incarnation) if step else None
    return {
        "at": moment(at_ms),
        "at_ms": at_ms,
        "event": event,
        "text": what,
        "incarnation": step.incarnation if step else "",
        "worker": {"host": worker.host, "slot": worker.slot, "pid": worker.pid} if worker else None,
        "reason": step.reason if step else "",
    }
