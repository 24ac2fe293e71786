"""`supervisor quiet` and `resume`, `supervisor control HALT` and `RESUME`: stop and resume the claims of hosts."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import click
import msgspec
import rich_click

from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder, remedy, who
from holdfast.core.tasks import WorkerKind, WorkerRecord
from holdfast.core.words import counted, duration
from holdfast.errors import StoreError
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.common.tables import TableFit, table
from holdfastd.cli.views import death_views, host_views, process_names
from holdfastd.cli.views.operator import operator
from holdfastd.control import client
from holdfastd.control.socket_protocol import AskStatus
from holdfastd.documents.host_documents import order_document, quiet_documents, worker_document

THIS = "this"
REASON = "ordered by an operator"
LONGEST = 255


def _host(_: click.Context, __: click.Parameter, value: str | None) -> str:
    """The value of --host as the store knows it."""
    if value is None:
        return ALL_HOSTS
    if value == THIS:
        return socket.gethostname()
    if value == ALL_HOSTS or not 1 <= len(value) <= LONGEST or not value.isprintable() or " " in value:
        raise click.BadParameter(
            f"{value[:80]!r} is not the name of a host: give a name, or `this`; omit --host for all hosts"
        )
    return value


host_option = click.option("--host", callback=_host, metavar="NAME|this", help="Only this host. Default: all hosts.")
reason_option = click.option("--reason", default=REASON, show_default=True, help="Reason that other commands show.")


@rich_click.command(epilog="Examples: supervisor quiet --reason 'the database moves'; supervisor quiet --host this")
@host_option
@reason_option
@options.store
@options.pass_session
def quiet(session: Session, /, host: str, reason: str) -> None:
    """Let all hosts of this queue, or one host, claim no more tasks until `supervisor resume`.

    Running tasks finish. New tasks are accepted and wait, and schedules still fire. A supervisor that starts in the
    meantime is quiet as well.
    """
    _quiet(session, host, reason)


@rich_click.command(epilog="Examples: supervisor resume; supervisor resume --host this")
@host_option
@options.store
@options.pass_session
def resume(session: Session, /, host: str) -> None:
    """Let all hosts of this queue, or one host, claim tasks again.

    A host that was made quiet by its name stays quiet until it is resumed by its name. A halt also stays, until
    `supervisor control RESUME`.
    """
    _end(session, host, halt=False)


@rich_click.command(epilog="Examples: supervisor control HALT; supervisor control RESUME --host this")
@click.argument("order", type=click.Choice(["HALT", "RESUME"], case_sensitive=False), metavar="HALT|RESUME")
@host_option
@reason_option
@options.store
@options.pass_timeline_session
def control(session: Session, /, order: str, host: str, reason: str) -> None:
    """HALT ends all `work` and `dispatch` processes, on all hosts or one, once they have finished their running tasks.

    They may be started again during the halt. Supervisors keep running, but claim no tasks and fire no schedules until
    RESUME.
    """
    if order.upper() == "HALT":
        _halt(session, host, reason)
    else:
        _end(session, host, halt=True)


def _quiet(session: Session, host: str, reason: str) -> None:
    order = ask(session, lambda store: store.quiet_host(host, operator(), _reason(reason)))
    if session.json:
        output.document(order_document(host, "quiet", order))
        return
    output.text(f"{_named(host)} quiet{'' if order.is_new else ' already'}: {_workers(order)} no more tasks")


def _halt(session: Session, host: str, reason: str) -> None:
    async def work(store: Store) -> QuietOrder:
        if host not in (ALL_HOSTS, socket.gethostname()):
            _check_known(host, {worker.host for worker in await store.workers()})
        return await store.halt_host(host, operator(), _reason(reason))

    order = ask(session, work)
    if session.json:
        output.document(order_document(host, "halt", order))
        return
    ends = "`work` and `dispatch` processes end after their running tasks"
    output.text(f"{_named(host)} halted: {_workers(order)} no more tasks; {ends}")


def _check_known(host: str, known: set[str]) -> None:
    """Refuses a host without workers: a misspelt name would look like a successful halt."""
    if host not in known:
        others = ", ".join(sorted(known)) or "none"
        hint = f"hosts with workers: {others}; halt a host that runs only `dispatch` from there (--host this)"
        raise CommandError(f"halt of {host!r}: no worker of this host is known; {hint}"[:1000], Exit.FAILED)


def _end(session: Session, host: str, *, halt: bool) -> None:
    """Ends the halt, or the quiet state. Prints the orders that remain, since they still stop claims."""

    async def work(store: Store) -> tuple[QuietOrder, tuple[Quiet, ...]]:
        end = store.end_halt if halt else store.resume_host
        return await end(host, operator()), await store.quiet_hosts()

    order, left = ask(session, work)
    word, new, old = ("halt ended", "halted no more", "not halted") if halt else ("resumed", "resumed", "not quiet")
    if session.json:
        output.document(order_document(host, word, order) | {"quiet": quiet_documents(left)})
        return
    output.text(f"{_named(host)} {new if order.is_new else old}: {_workers(order)} tasks")
    for each in left:
        still = "halted" if each.is_halt else "quiet"
        output.note(f"still {still}: {who(each)} ({each.reason}); to resume: {remedy(each)}")


def _reason(reason: str) -> str:
    return output.safe(reason.strip() or REASON)[:1000]


def _named(host: str) -> str:
    return "all hosts are" if host == ALL_HOSTS else f"host {host} is"


def _workers(order: QuietOrder) -> str:
    return counted(order.workers, "worker claims", "workers claim")


# `supervisor workers`: the workers of all hosts, or the last deaths of this supervisor's processes.

COLUMNS = ("host", "slot", "pid", "state", "heard", "running", "incarnation")
FIT = TableFit(("incarnation",), drop=("incarnation", "pid"))


@rich_click.command(epilog="Examples: supervisor workers --json; supervisor workers --deaths")
@click.option(
    "--deaths", "with_deaths", is_flag=True, help="Show the last deaths of this supervisor's processes instead."
)
@options.wide
@options.store
@options.pass_reading_session
def workers(session: Session, /, with_deaths: bool) -> None:
    """List the workers of all hosts of this queue, or with --deaths the last deaths of this supervisor's processes."""
    if with_deaths:
        _print_deaths(session)
    else:
        _print_living(session)


def _print_living(session: Session, /) -> None:
    records, quiet, now_ms = ask(session, _look)
    if session.json:
        output.document([worker_document(worker) for worker in records])
    else:
        for line in host_views.lines(quiet, now_ms):
            output.text(line)
        rows = [_cells(worker) for worker in sorted(records, key=lambda each: (each.host, each.slot))]
        table(COLUMNS, rows, FIT, wide=session.wide)


async def _look(store: Store) -> tuple[list[WorkerRecord], tuple[Quiet, ...], int]:
    return await store.workers(), await store.quiet_hosts(), await store.clock_ms()


def _print_deaths(session: Session, /) -> None:
    deaths = client.ask(session.runtime_dir, AskStatus()).deaths
    held = _held(session, [each.incarnation for each in deaths.recent if each.kind in process_names.CLAIMING])
    if session.json:
        recent = [msgspec.to_builtins(each) | {"held": held.get(each.incarnation, ())} for each in deaths.recent]
        output.document({"total": deaths.total, "recent": recent})
    else:
        rows = [death_views.cells(each, held.get(each.incarnation, ())) for each in deaths.recent]
        table(death_views.COLUMNS, rows, death_views.FIT, wide=session.wide)


def _held(session: Session, incarnations: Sequence[str], /) -> dict[str, tuple[str, ...]]:
    """The tasks they held when they died, by the store, which knows more than their last heartbeat but may be away."""
    try:
        known = ask(session, lambda store: store.incarnations(incarnations))
    except StoreError:
        return {}
    return {incarnation: worker.held for incarnation, worker in known.items()}


def _cells(worker: WorkerRecord) -> tuple[object, ...]:
    heard = f"{duration(worker.beat_ago_ms / 1000)} ago"
    state = "quiet" if worker.quiet and worker.state == "live" else worker.state
    slot = f"quarantine {worker.slot}" if worker.kind == WorkerKind.QUARANTINE else worker.slot
    return (worker.host, slot, worker.pid, state, heard, len(worker.running), worker.incarnation)
