"""`supervisor top`: everything that runs, on one screen that is refreshed twice a second."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import click
from rich.console import Console

from holdfast.errors import HoldfastError, StoreError
from holdfast_config.environment import no_color
from holdfastd.cli import why_command
from holdfastd.cli.common import Session, options, output, parameters
from holdfastd.cli.common.store_session import Store, ask, converse, operate_in
from holdfastd.cli.shown_values import retried_words
from holdfastd.cli.top import draw
from holdfastd.cli.top.look import Look, Observer
from holdfastd.cli.top.panes import PANES, PaneRow, shown_rows
from holdfastd.cli.top.screen_state import RowOrder, Screen, pressed
from holdfastd.documents.queue_documents import EndedOrderDocument, OrderDocument
from holdfastd.operations.act import Act
from holdfastd.operations.hosts import QUIET_HOSTS, RESUME_HOSTS
from holdfastd.operations.tasks import CANCEL_TASK, RETRY_TASK

# Reads single keys from a terminal.

_ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
_SEQUENCES = {
    **{f"{begin}{key}": name for begin in "[O" for key, name in _ARROWS.items()},
    "[5~": "page up",
    "[6~": "page down",
}
_NAMES = {
    " ": "space",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
}
_ESCAPE = "\x1b"


@contextmanager
def unbuffered(descriptor: int) -> Generator[None]:
    """A context manager: while its block runs, the terminal passes keys one by one, and does not echo them."""
    before = termios.tcgetattr(descriptor)
    try:
        tty.setraw(descriptor, termios.TCSADRAIN)
        after = termios.tcgetattr(descriptor)
        after[1] = before[1]  # the output mode stays: printed lines begin at the left
        termios.tcsetattr(descriptor, termios.TCSADRAIN, after)
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def read_keys(descriptor: int) -> list[str]:
    """The names of the pressed keys; empty if the terminal is gone."""
    try:
        raw = os.read(descriptor, 1024)
    except OSError:
        return []
    return names_of(raw.decode(errors="ignore"))


def names_of(typed: str) -> list[str]:
    """The pressed keys: a printable key is its character, any other has a name. An unknown sequence is ignored."""
    keys: list[str] = []
    while typed:
        first, rest = typed[0], typed[1:]
        if first == _ESCAPE and rest[:1] in {"[", "O"}:
            size = next((i for i, char in enumerate(rest[1:], 2) if char.isalpha() or char == "~"), len(rest))
            name = _SEQUENCES.get(rest[:size])
            keys += [name] if name else []
            typed = rest[size:]
            continue
        name = "escape" if first == _ESCAPE else _NAMES.get(first, first)
        keys += [name] if len(name) > 1 or name.isprintable() else []
        typed = rest
    return keys


# Carries out what an operator has confirmed in `top`.


async def carry_out(order: RowOrder, row: PaneRow, session: Session, store: Store) -> str:
    """Carry out an order of the operator. Returns one line: the result, or why the order was refused."""
    act, words = ORDERS[order]
    is_of_host = act.subject == "host"
    subject = row.host if is_of_host else row.task_id
    if not subject:
        return f"{order}: select a {'worker first (pane 1)' if is_of_host else 'task first'}"
    given = {act.subject: subject} | ({} if order is RowOrder.RESUME else {"reason": "in top"})
    lost = list[str]()  # a line if the note in Activity is lost
    answer = await operate_in(store, session, act, given, tell=lost.append)
    return "; ".join([words(answer), *lost])


def _quieted(answer: OrderDocument) -> str:
    return f"host {answer['host']} is quiet{'' if answer['changed'] else ' already'}"


def _resumed(answer: EndedOrderDocument) -> str:
    return f"host {answer['host']} {'claims tasks again' if answer['changed'] else 'was not quiet'}"


ORDERS: Mapping[RowOrder, tuple[Act[Any, Any], Callable[[Any], str]]] = {
    RowOrder.QUIET: (QUIET_HOSTS, _quieted),
    RowOrder.RESUME: (RESUME_HOSTS, _resumed),
    RowOrder.RETRY: (RETRY_TASK, lambda retried: f"task {retried_words(retried)}"),
    RowOrder.CANCEL: (CANCEL_TASK, lambda canceled: f"task {canceled['task_id']} is {canceled['state']}"),
}


EVERY = 0.5  # seconds between looks
NOTICE = 4  # looks for which an answer stays on the screen
WIDTH = 10_000  # characters of a line in a pipe
ONCE_TIMEOUT = 10.0  # seconds to wait for the supervisor with --once


@options.command(epilog="Examples: supervisor top; supervisor top --once; supervisor top --json | head -1")
@click.option("--once", is_flag=True, help="Print all panes once, as text, and end.")
@click.option("--host", metavar="NAME", help="Only workers of this host.")
@click.option(
    "--timeout",
    type=parameters.DURATION,
    default=ONCE_TIMEOUT,
    help="With --once: how long to wait for the supervisor of this host.  [default: 10s]",
)
@options.reading
def top(session: Session, /, once: bool, host: str | None, timeout: float) -> None:
    """Show workers, lanes, handlers, tasks, deaths and schedules on one screen, refreshed twice a second.

    Press ? for the keys. In a pipe, or with --json, it prints a JSON document each second, on a line of its own, until
    it is interrupted. With --once it prints everything once and ends.
    """
    is_screen = sys.stdin.isatty() and sys.stdout.isatty() and not session.json
    if once:
        look = ask(session, lambda store: Observer(store, session.runtime_dir, host, timeout).look())
        _print(session, look)
    elif is_screen:
        converse(session, lambda store: Top(session, store, host).run())
    else:
        converse(session, lambda store: _follow(session, store, host))


async def _follow(session: Session, store: Store, host: str | None) -> None:
    observer = Observer(store, session.runtime_dir, host)
    while True:
        with suppress(StoreError):  # the next look may succeed
            output.line(_document(await observer.look()))
        await anyio.sleep(2 * EVERY)


def _print(session: Session, look: Look) -> None:
    if session.json:
        output.document(_document(look))
        return
    for line in draw.summary(look):
        output.text(line)
    width = Console().width if sys.stdout.isatty() else WIDTH
    for name, pane in PANES.items():
        output.text("")
        output.text(name)
        for line in draw.aligned(pane, pane.rows(look), width):
            output.text(line)


def _document(look: Look) -> dict[str, Any]:
    """The panes with the values by which they are sorted: numbers as they are, durations in seconds."""
    panes = {
        name: [
            {column.title or "note": value for column, value in zip(pane.columns, row.values, strict=True)}
            for row in pane.rows(look)
        ]
        for name, pane in PANES.items()
    }
    return {"now_ms": look.now_ms, "trouble": look.trouble, **panes}


@dataclass(slots=True)
class Top:
    """The screen and its present contents. `_notice`: the answer to the last order, and for how many looks it stays."""

    session: Session
    store: Store
    host: str | None
    _screen: Screen = field(default_factory=Screen)
    _look: Look = field(default_factory=Look)
    _rows: Sequence[PaneRow] = ()
    _why: str = ""
    _notice: tuple[str, int] = ("", 0)

    async def run(self) -> None:
        """Show the screen until the operator ends it."""
        console = Console(no_color=no_color() or None)
        keys = sys.stdin.fileno()
        with unbuffered(keys), console.screen(hide_cursor=True) as screen:

            def show() -> None:
                told = draw.Told(self._why, self._notice[0] if self._notice[1] else "")
                screen.update(draw.drawn(self._screen, self._look, self._rows, *console.size, told))

            show()
            async with anyio.create_task_group() as group:
                group.start_soon(self._keep_looking, show)
                while not self._screen.is_over:
                    await anyio.wait_readable(keys)
                    for key in read_keys(keys) or ["q"]:  # nothing to read: the terminal was closed
                        await self._press(key)
                    show()
                group.cancel_scope.cancel()

    async def _keep_looking(self, show: Any) -> None:
        observer = Observer(self.store, self.session.runtime_dir, self.host)
        while True:
            if not self._screen.is_paused:
                try:
                    self._look = await observer.look()
                except StoreError as error:
                    self._look = await observer.without_store(self._look, str(error))
                self._choose_rows()
            self._notice = (self._notice[0], max(0, self._notice[1] - 1))
            show()
            await anyio.sleep(EVERY)

    async def _press(self, key: str) -> None:
        self._screen = pressed(self._screen, key)
        if self._screen.confirmed is not None:
            order, self._screen = self._screen.confirmed, replace(self._screen, confirmed=None)
            self._notice = (await self._ordered(order), NOTICE)
        if self._screen.shows_why:
            self._why = await self._history()
        self._choose_rows()

    def _choose_rows(self) -> None:
        screen, pane = self._screen, PANES[self._screen.pane]
        self._rows = shown_rows(pane, self._look, screen.filter, screen.sort, is_reversed=screen.is_reversed)
        selected = max(0, min(screen.selected, len(self._rows) - 1))
        self._screen = replace(screen, rows=len(self._rows), columns=len(pane.columns), selected=selected)

    async def _ordered(self, order: RowOrder) -> str:
        if not self._rows:
            return f"{order}: nothing is selected"
        try:
            return await carry_out(order, self._rows[self._screen.selected], self.session, self.store)
        except HoldfastError as error:
            return str(error)

    async def _history(self) -> str:
        task_id = self._rows[self._screen.selected].task_id if self._rows else ""
        if not task_id:
            return "no task is selected"
        try:
            return "\n".join(await why_command.lines(self.session, task_id, self.store))
        except HoldfastError as error:
            return str(error)
