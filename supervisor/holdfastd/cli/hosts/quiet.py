"""`supervisor quiet` and `resume`, `supervisor control HALT` and `RESUME`: stop and resume the claims of hosts."""

from __future__ import annotations

import socket

import click
import rich_click

from holdfast.core.host_words import remedy, who
from holdfast.core.plurals import counted
from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.error_report import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.views.operator import operator
from holdfastd.documents.host_documents import order_document, quiet_documents

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
