"""`supervisor quiet` and `resume`, `supervisor control HALT` and `RESUME`: whether hosts claim tasks and make fires."""

from __future__ import annotations

import getpass
import socket

import click
import rich_click

from holdfast.core.plurals import counted
from holdfast.core.quiet_hosts import ALL_HOSTS, Quiet, QuietOrder
from holdfast.exits import Exit
from holdfast.store.protocol import Store
from holdfastd.cli.common import options, output
from holdfastd.cli.common.exit_status import CommandError
from holdfastd.cli.common.session import Session
from holdfastd.cli.common.store_session import ask
from holdfastd.cli.views import host_views

THIS = "this"
REASON = "said an operator"
LONGEST = 255


def _host(_: click.Context, __: click.Parameter, value: str | None) -> str:
    """The host that an option names."""
    if value is None:
        return ALL_HOSTS
    if value == THIS:
        return socket.gethostname()
    if value == ALL_HOSTS or not 1 <= len(value) <= LONGEST or not value.isprintable() or " " in value:
        raise click.BadParameter(f"{value[:80]!r}: the name of a host, or this; for all hosts leave it out")
    return value


host_option = click.option("--host", callback=_host, metavar="NAME|this", help="This host alone; else all of them.")
reason_option = click.option("--reason", default=REASON, show_default=True, help="What others are shown.")


@rich_click.command(epilog="Examples: supervisor quiet --reason 'the database moves'; supervisor quiet --host this")
@host_option
@reason_option
@options.store
@options.pass_session
def quiet(session: Session, /, host: str, reason: str) -> None:
    """Have all hosts that use this queue, or one, claim nothing more, until `supervisor resume`.

    What runs is finished. What is submitted waits, and schedules fire; whatever starts anew meanwhile is quiet too.
    """
    _quiet(session, host, reason)


@rich_click.command(epilog="Examples: supervisor resume; supervisor resume --host this")
@host_option
@options.store
@options.pass_session
def resume(session: Session, /, host: str) -> None:
    """Let all hosts that use this queue, or one, claim tasks again.

    A host that was told to be quiet by itself stays so, until it is resumed by its name. A halt stays, too, until
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
    """HALT ends each `work` and `dispatch` when it has finished what it runs, on all hosts or one.

    They may be started again in spite of it. Supervised pools stay: they claim nothing and make no fires until RESUME.
    """
    if order.upper() == "HALT":
        _halt(session, host, reason)
    else:
        _end(session, host, halt=True)


def _quiet(session: Session, host: str, reason: str) -> None:
    told = ask(session, lambda store: store.quiet_host(host, _who(), _reason(reason)))
    if session.json:
        output.document(_document(host, "quiet", told))
        return
    output.text(f"{_named(host)} quiet{'' if told.is_new else ' already'}: {_workers(told)} nothing more")


def _halt(session: Session, host: str, reason: str) -> None:
    async def work(store: Store) -> QuietOrder:
        if host not in (ALL_HOSTS, socket.gethostname()):
            _check_known(host, {worker.host for worker in await store.workers()})
        return await store.halt_host(host, _who(), _reason(reason))

    told = ask(session, work)
    if session.json:
        output.document(_document(host, "halt", told))
        return
    ends = "work and dispatch end when they have finished what they run"
    output.text(f"{_named(host)} halted: {_workers(told)} nothing more; {ends}")


def _check_known(host: str, known: set[str]) -> None:
    """A halt that ends nothing, as its host is misspelt, would be believed to have ended something."""
    if host not in known:
        others = ", ".join(sorted(known)) or "none"
        wanted = f"known are: {others}; a host that runs a dispatcher alone is halted from there (--host this)"
        raise CommandError(f"halt of {host!r}: no worker of such a host is known; {wanted}"[:1000], Exit.FAILED)


def _end(session: Session, host: str, *, halt: bool) -> None:
    """Ends the halt, or the other mark. The marks that remain are said, too: they still keep workers from claiming."""

    async def work(store: Store) -> tuple[QuietOrder, tuple[Quiet, ...]]:
        end = store.end_halt if halt else store.resume_host
        return await end(host, _who()), await store.quiet_hosts()

    told, left = ask(session, work)
    word, new, old = ("halt ended", "halted no more", "not halted") if halt else ("resumed", "resumed", "not quiet")
    if session.json:
        output.document(_document(host, word, told) | {"quiet": host_views.documents(left)})
        return
    output.text(f"{_named(host)} {new if told.is_new else old}: {_workers(told)} tasks")
    for one in left:
        still = "halted" if one.is_halt else "quiet"
        output.note(f"still {still}: {host_views.who(one)} ({one.reason}); to go on: {host_views.remedy(one)}")


def _reason(reason: str) -> str:
    return output.safe(reason.strip() or REASON)[:1000]


def _document(host: str, word: str, told: QuietOrder) -> dict[str, object]:
    return {"host": None if host == ALL_HOSTS else host, "word": word, "changed": told.is_new, "workers": told.workers}


def _named(host: str) -> str:
    return "all hosts are" if host == ALL_HOSTS else f"host {host} is"


def _workers(told: QuietOrder) -> str:
    return counted(told.workers, "worker claims", "workers claim")


def _who() -> str:
    """Whoever calls, as far as the system knows."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in a container
        user = "somebody"
    return f"{user}@{socket.gethostname()}"
