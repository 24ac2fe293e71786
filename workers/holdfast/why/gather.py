"""Explains a task: reads its record from the store, with its lane, workers, orders and limits, and makes one
document."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from holdfast.core.quiet_hosts import Quiet, remedy, who
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import TrailStep, read_trail
from holdfast.core.webhook_notice import WaitingNotice, notice_name
from holdfast.core.words import duration
from holdfast.core.worker_records import ServedLimits, WorkerRecord
from holdfast.errors import UnknownTaskError
from holdfast.store import Store
from holdfast.why.document import WhyDocument, document
from holdfast.why.history import TaskHistory, events_of
from holdfast.why.outlook import TaskSnapshot
from holdfast.why.task_spans import task_spans, tracing_of
from holdfast_config import Settings

PARENTS = 3  # parents that are shown for a waiting task


async def gather(
    store: Store, queue: str, task_id: str, settings: Settings
) -> tuple[TaskSnapshot, dict[str, WorkerRecord]]:
    """The task with the facts around it, and the workers in its history by incarnation. If no worker runs, the limits
    of `settings` count. Raises UnknownTaskError."""
    usual = ServedLimits(settings.max_attempts, settings.unknown_handler_timeout, settings.keep)
    task = await store.get(task_id)
    if task is None:
        raise UnknownTaskError(_unknown(queue, task_id, usual))
    steps = tuple(_in_order(read_trail(task.trail), await _recorded_steps(store, task)))
    names = {step.incarnation for step in steps if step.incarnation} | ({task.owner} - {""})
    workers = await store.incarnations(names)
    [service] = await store.service([(task.lane, task.name)])
    limits, handler = service.limits or usual, await store.kept_handler(task.name)
    snapshot = TaskSnapshot(
        task=task,
        steps=steps,
        now_ms=await store.clock_ms(),
        keep_ms=round(max(limits.keep, settings.database_keep if settings.postgres else 0) * 1000),
        max_attempts=(handler and handler.max_attempts) or limits.max_attempts,
        are_registered=service.limits is not None,
        place=await store.place(task_id) if task.state is State.SUBMITTED else None,
        owner=workers.get(task.owner),
        held_up=_held_up(await store.quiet_hosts(), {each.host for each in await store.workers()}),
        service=service if task.state is State.SUBMITTED else None,
        unknown_ms=round(limits.unknown_handler_timeout * 1000),
        parents=await _parents(store, task.waits_for[:PARENTS]),
        after=tuple((await store.results_of_parents(task_id, 0)).values()) if task.if_parent_fails else (),
        batch=await store.batch(task.batch) if task.batch else None,
        webhook=await _webhook(store, task) if task.finished_ms else None,
    )
    return snapshot, workers


async def _recorded_steps(store: Store, task: TaskRecord) -> list[TrailStep]:
    """The steps that the task's handler has recorded, in the form of lines of the history. A retry begins with the
    steps of the task that it repeats."""
    kept = f"kept from {task.retry_of}"
    return [
        TrailStep(
            max(step.at_ms, task.created_ms),
            "step",
            kept if task.retry_of and step.at_ms < task.created_ms else "",
            number=step.place + 1,
            other=step.name,
        )
        for step in await store.names_of_steps(task.task_id)
    ]


def _in_order(trail: Sequence[TrailStep], recorded: Sequence[TrailStep]) -> list[TrailStep]:
    """The lines of the trail and the recorded steps, by time. Steps of the millisecond in which their run ended stand
    before its end: a question, for example, is recorded together with the end of its turn."""
    ranked, at_ms, rank = [(step.at_ms, 1, step) for step in recorded], 0, 0
    for line in trail:
        rank = 2 if line.event in _ENDS or (rank and line.at_ms == at_ms) else 0
        at_ms = line.at_ms
        ranked.append((at_ms, rank, line))
    return [line for *_, line in sorted(ranked, key=lambda each: each[:2])]


_ENDS = frozenset({"settled", "sleep", "retry", "release", "suspended"})


async def _webhook(store: Store, task: TaskRecord) -> WaitingNotice | None:
    """The notice of the end of a task, if it is not delivered yet."""
    outbox = await store.outbox(0, 1, notice_name(task.task_id, task.turn, task.state))
    return next(iter(outbox.waiting), None)


def _held_up(quiet: Sequence[Quiet], hosts: Collection[str]) -> tuple[str, ...]:
    """In words: the orders (quiet or halt) by which no host may claim tasks. This is an order for all hosts, or an
    order for every single host that has workers. Empty if some host may claim."""
    orders = [each for each in quiet if each.is_all]
    if not orders and hosts and {each.host for each in quiet}.issuperset(hosts):
        orders = [each for each in quiet if each.host in hosts]
    return tuple(f"{who(each)} ({each.reason}): {remedy(each)}" for each in orders)


async def _parents(store: Store, task_ids: Sequence[str]) -> tuple[TaskRecord, ...]:
    parents = [await store.get(task_id, payloads=False) for task_id in task_ids]
    return tuple(each for each in parents if each)


def _unknown(queue: str, task_id: str, usual: ServedLimits) -> str:
    kept = f"a task that has ended is kept for {duration(usual.keep)}"
    return f"no task {task_id} in {queue}: {kept}, and a pushed one is known once a worker has claimed it"


async def explain(store: Store, queue: str, task_id: str, settings: Settings | None) -> WhyDocument:
    """The explanation of a task. Without `settings` the defaults count. Raises UnknownTaskError."""
    settings = settings or Settings()
    snapshot, workers = await gather(store, queue, task_id, settings)
    known = TaskHistory(workers, events=events_of(snapshot.steps))
    return document(snapshot, known, task_spans(snapshot.task, snapshot.steps, tracing_of(settings)))
