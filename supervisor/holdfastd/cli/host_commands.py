"""Commands for the workers of hosts: `workers`, `scale`, `quiet`, `resume`, `control HALT` and `control RESUME`."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import click
import msgspec

from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, remedy, who
from holdfast.core.words import counted, duration
from holdfast.core.worker_records import WorkerKind, WorkerRecord
from holdfast.errors import StoreError
from holdfast.exits import Exit
from holdfast.os.stack_file import texts_of
from holdfast_config.errors import BrokenSettingsError
from holdfastd.cli import shown_values
from holdfastd.cli.common import Session, options, output, tables
from holdfastd.cli.common.store_session import Store, arguments_of, ask, command_of, given_of, operate, operate_here
from holdfastd.control import client
from holdfastd.control.local_supervisor import WorkerStacks
from holdfastd.control.socket_protocol import AskStatus
from holdfastd.documents.queue_documents import EndedOrderDocument, OrderDocument, worker_document
from holdfastd.operations.hosts import END_HALT, HALT_HOSTS, QUIET_HOSTS, RESUME_HOSTS
from holdfastd.operations.workers import SCALE_WORKERS, WRITE_STACKS

THIS = "this"


def _host(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    return socket.gethostname() if value == THIS else value


host_option = click.option("--host", callback=_host, metavar="NAME|this", help="Only this host. Default: all hosts.")


def _ordered(answer: OrderDocument) -> str:
    claims = f"{_workers(answer)} no more tasks"
    if answer["word"] == "halt":
        return f"{_named(answer)} halted: {claims}; `work` and `dispatch` processes end after their running tasks"
    return f"{_named(answer)} quiet{'' if answer['changed'] else ' already'}: {claims}"


def _released(answer: EndedOrderDocument) -> str:
    """The line for an ended order. Also prints a remark for each order that remains: because of it hosts still claim no
    tasks."""
    new, old = ("halted no more", "not halted") if answer["word"] == "halt ended" else ("resumed", "not quiet")
    for each in answer["quiet"]:
        order = Quiet(each["host"] or ALL_HOSTS, 0, each["by"], each["reason"], each["word"] == "halt")
        still = "halted" if order.is_halt else "quiet"
        output.note(f"still {still}: {who(order)} ({order.reason}); to resume: {remedy(order)}")
    return f"{_named(answer)} {new if answer['changed'] else old}: {_workers(answer)} tasks"


def _named(answer: OrderDocument) -> str:
    return "all hosts are" if answer["host"] is None else f"host {answer['host']} is"


def _workers(answer: OrderDocument) -> str:
    return counted(answer["workers"], "worker claims", "workers claim")


quiet = command_of(
    QUIET_HOSTS,
    "quiet",
    _ordered,
    "Examples: supervisor quiet --reason 'the database moves'; supervisor quiet --host this",
    own={"host": host_option},
)
resume = command_of(
    RESUME_HOSTS,
    "resume",
    _released,
    "Examples: supervisor resume; supervisor resume --host this",
    own={"host": host_option},
)


@options.command(epilog="Examples: supervisor timeline control HALT; supervisor timeline control RESUME --host this")
@click.argument("order", type=click.Choice(["HALT", "RESUME"], case_sensitive=False), metavar="HALT|RESUME")
@arguments_of(HALT_HOSTS, own={"host": host_option})
@options.timeline
def control(session: Session, /, order: str, **given: Any) -> None:
    """HALT ends all `work` and `dispatch` processes, on all hosts or one, once they have finished their running tasks.

    You may start these processes again during the halt. Supervisors keep running, but claim no tasks and fire no
    schedules until RESUME.
    """
    if order.upper() == "HALT":
        halted = operate(session, HALT_HOSTS, given_of(given))
        session.answer(halted, _ordered(halted))
    else:
        released = operate(session, END_HALT, given_of({"host": given["host"]}))
        session.answer(released, _released(released))


# `supervisor scale`: the workers of one supervisor of this host.


@options.command(help=SCALE_WORKERS.help, epilog="Example: supervisor scale 12")
@arguments_of(SCALE_WORKERS, left_out=["host"], own={"workers": click.argument("workers", metavar="N")})
@options.here
@options.pass_changing_session
def scale(session: Session, /, **given: Any) -> None:
    answer = operate_here(session, SCALE_WORKERS, given)
    session.answer(answer, f"the target is now {counted(answer['target'], 'worker')}")


# `supervisor stacks`: the lines of code at which workers of this host are now.


@options.command(
    help=WRITE_STACKS.help, epilog="Examples: supervisor stacks; supervisor stacks 2; supervisor stacks --json 0b9f2d4c"
)
@click.argument("worker", metavar="[WORKER|TASK]", default="")
@options.here
@options.pass_changing_session
def stacks(session: Session, /, worker: str) -> int:
    found = operate_here(session, WRITE_STACKS, {"worker": worker})
    for each in () if session.json else found:
        _print_stacks(each, worker)
    if session.json:
        output.document(msgspec.to_builtins(found))
    return Exit.FAILED if any(each.error for each in found) else Exit.OK


def _print_stacks(found: WorkerStacks, word: str) -> None:
    name = shown_values.process_name(found.kind, found.slot)
    output.text(f"{name}, pid {found.pid}, incarnation {found.incarnation}")
    if found.error:
        output.note(f"{name}: {found.error}")
        return
    tasks = found.stacks.tasks
    if tasks is None:
        output.note(f"{name}: the stacks of its tasks are missing: its main thread runs no Python line, or hangs")
    of_task = [each for each in tasks or () if word and each.task_id.startswith(word)]
    for text in (*texts_of(of_task or tasks or ()), found.stacks.threads):
        output.text(text, keep=output.LINE_END)


# `supervisor workers`: the workers of all hosts, or the last deaths of this supervisor's processes.

COLUMNS = ("host", "slot", "pid", "state", "heard", "running", "incarnation")
FIT = tables.TableFit(("incarnation",), drop=("incarnation", "pid"))


@options.command(epilog="Examples: supervisor workers --json; supervisor workers --deaths")
@click.option(
    "--deaths", "with_deaths", is_flag=True, help="Show the last deaths of this supervisor's processes instead."
)
@options.listing
def workers(session: Session, /, with_deaths: bool) -> None:
    """List the workers of all hosts of this queue, or with --deaths the last deaths of this supervisor's processes."""
    if with_deaths:
        _print_deaths(session)
        return

    async def look(store: Store) -> tuple[list[WorkerRecord], tuple[Quiet, ...], int]:
        return await store.workers(), await store.quiet_hosts(), await store.clock_ms()

    records, quiet, now_ms = ask(session, look)
    for line in () if session.json else shown_values.lines(quiet, now_ms):
        output.text(line)
    rows = map(_cells, sorted(records, key=lambda each: (each.host, each.slot)))
    tables.answer(session, [worker_document(worker) for worker in records], COLUMNS, rows, FIT)


def _print_deaths(session: Session, /) -> None:
    deaths = client.ask(session.control_dir, AskStatus()).deaths
    held = _held(session, [each.incarnation for each in deaths.recent if each.kind in shown_values.CLAIMING])
    recent = [msgspec.to_builtins(each) | {"held": held.get(each.incarnation, ())} for each in deaths.recent]
    rows = (shown_values.cells(each, held.get(each.incarnation, ())) for each in deaths.recent)
    document = {"total": deaths.total, "recent": recent}
    tables.answer(session, document, shown_values.DEATH_COLUMNS, rows, shown_values.DEATH_FIT)


def _held(session: Session, incarnations: Sequence[str], /) -> dict[str, tuple[str, ...]]:
    """The tasks that these incarnations held when they died, as the store knows them: incarnation to task ids. The
    store knows more than their last heartbeats. Empty if the store is away, or if the settings that name it are
    invalid."""
    try:
        known = ask(session, lambda store: store.incarnations(incarnations))
    except (StoreError, BrokenSettingsError):
        return {}
    return {incarnation: worker.held for incarnation, worker in known.items()}


def _cells(worker: WorkerRecord) -> tuple[object, ...]:
    heard = f"{duration(worker.beat_ago_ms / 1000)} ago"
    state = "quiet" if worker.quiet and worker.state == "live" else worker.state
    slot = f"quarantine {worker.slot}" if worker.kind == WorkerKind.QUARANTINE else worker.slot
    return (worker.host, slot, worker.pid, state, heard, len(worker.running), worker.incarnation)
